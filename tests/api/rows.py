"""Predictions of three pairs, with wrong ones at regular places."""

from typing import Any

import figlang

GOLD = [0, 1, 1, 0, 1, 0]


def predictions(wrong: int, name: str) -> figlang.Predictions:
    """Three pairs; every `wrong`-th item is wrong."""
    rows: list[dict[str, Any]] = []
    for place, gold in enumerate(GOLD):
        chosen = gold if place % wrong else 1 - gold
        rows.append(
            {
                "id": f"i{place}",
                "group": str(place // 2),
                "gold": gold,
                "scores": [1.5 - chosen, 0.5 + chosen],
            }
        )
        rows[-1]["kind"] = ["x", "y"] if place % 2 else "x"
    return figlang.Predictions.from_list(rows, name)
