"""Predictions of items in pairs, right or wrong as asked."""

from figlang.types import Prediction


def row(number: int, right: bool, margin: float = 1.0, gold: int = 0) -> Prediction:
    ahead = gold if right else 1 - gold
    scores = [0.0, 0.0]
    scores[ahead] = margin
    return Prediction(f"i{number}", f"g{number // 2}", gold, tuple(scores))


ROWS = [row(number, right=number % 4 != 0) for number in range(40)]
