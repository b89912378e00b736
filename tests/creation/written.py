"""Tables of prompts that are filled in, with words made up for tests."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from figlang.creation.prompts import COLUMNS

IMAGES = ("anvil", "biscuit", "candle", "dragon", "easel", "feather", "glacier", "hammer")


def rows(count: int) -> list[dict[str, str]]:
    """Pairs whose metaphors share few words with those of other pairs."""
    return [
        {
            "id": f"p{number}",
            "frame": f"Subject{number} is …",
            "writer": f"w{number % 3}",
            "metaphor1": f"Subject{number} is one{number} {IMAGES[number % 8]} of{number} the{number} sea",
            "meaning1": f"It is great{number}.",
            "metaphor2": f"Subject{number} is two{number} {IMAGES[-number % 8]} by{number} a{number} road",
            "meaning2": f"It is small{number}.",
        }
        for number in range(count)
    ]


def table(path: Path, some: Sequence[Mapping[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(some)
    return path
