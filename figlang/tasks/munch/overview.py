"""MUNCH's Table 1 and Figure 8 (Tong et al. 2024): genres, parts of speech, novelty; and Figure 3 as a
table."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from figlang.statistics import association
from figlang.statistics.association import Case
from figlang.statistics.metrics import Estimate
from figlang.tables import Cell, Number, Table
from figlang.tasks.munch.factors import PARTS
from figlang.tasks.munch.published import table as printed_table
from figlang.tasks.munch.reading import GENRES
from figlang.tasks.munch.similarity import PAIRS
from figlang.types import Item

TOTAL = "TOTAL"
# Adjectives and adverbs are one class of Table 1.
CLASSES = {"N": "N", "V": "V", "A": "A", "R": "A"}
FOOTNOTE = (
    "Shares are of the sentences whose target has a part of speech, in % (95 % CI over sentences). A: "
    "adjective or adverb; "
    "other: anything else. The published shares are of all sentences, by the corpus's own tags."
)


def measure(items: Sequence[Item]) -> dict[str, Any]:
    """Sentences by genre, shares of parts of speech in each, novelty in each, as plain data."""
    genres = {}
    for genre in (*GENRES, TOTAL):
        some = [item for item in items if genre in (*item.attributes["genre"], TOTAL)]
        if some:
            tags = [(item, _class(item)) for item in some if "pos" in item.attributes]
            shares = {
                name: asdict(
                    association.share([Case(item.group, tag == name, item.attributes) for item, tag in tags])
                )
                for name in ("N", "V", "A", "other")
                if tags
            }
            genres[genre] = {
                "n": len(some),
                "tagged": len(tags),
                "shares": shares,
                "novelty": _spread(_novelty(some)),
            }
    return {"genres": genres}


def novelty(items: Sequence[Item]) -> dict[str, list[float]]:
    """Novelty scores of the sentences, by genre and of all."""
    found = {
        genre: [item for item in items if genre in (*item.attributes["genre"], TOTAL)]
        for genre in (TOTAL, *GENRES)
    }
    return {genre: _novelty(some) for genre, some in found.items() if some}


def _class(item: Item) -> str:
    return CLASSES.get(PARTS.get(item.attributes["pos"][0], ""), "other")


def _novelty(items: Sequence[Item]) -> list[float]:
    return [float(item.attributes["novelty"][0]) for item in items]


def _spread(values: Sequence[float]) -> dict[str, float | None]:
    quarters = [float(value) for value in np.quantile(values, (0, 0.25, 0.5, 0.75, 1))]
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return {
        "mean": float(np.mean(values)),
        "sd": sd,
        **dict(zip(("least", "q1", "median", "q3", "most"), quarters, strict=True)),
    }


def tables(content: Mapping[str, Any]) -> list[Table]:
    """The tables of a metrics.json, with the published numbers if they are of the
    same sentences."""
    genres = content["genres"]
    made = [_first(genres, content["published_file"]), _novelties(genres)]
    if "similarity" in content:
        made.append(_third(content["similarity"], content["model"]))
    return made


def _first(genres: Mapping[str, Any], published: bool) -> Table:
    own: list[list[Cell]] = [["sentences", *(found["n"] for found in genres.values())]]
    own.append(["with part of speech", *(found["tagged"] for found in genres.values())])
    for name in ("N", "V", "A", "other"):
        shares = [found["shares"].get(name) for found in genres.values()]
        own.append([name, *(None if share is None else Estimate(**share) for share in shares)])
    theirs: dict[str, dict[str, str]] = {}
    for row in printed_table("Table 1") if published else []:
        name = row.setting.get("pos", "sentences")
        theirs.setdefault(name, {})[row.setting["genre"]] = f"{row.value:.0f}"
    rows: list[list[Cell]] = [
        [f"published: {name}", *(cells.get(genre, "") for genre in genres)] for name, cells in theirs.items()
    ]
    return Table.of_blocks(
        "table1", "Table 1, sentences by genre and part of speech", ["", *genres], [own, rows], brief=True
    )


def _novelties(genres: Mapping[str, Any]) -> Table:
    columns = ("mean", "sd", "least", "q1", "median", "q3", "most")
    rows: list[list[Cell]] = []
    for genre, found in genres.items():
        values = [found["novelty"][name] for name in columns]
        rows.append([genre, *(None if value is None else Number(value) for value in values), found["n"]])
    return Table.of_blocks("figure8", "Figure 8, novelty", ["", *columns, "n"], [rows])


def _third(found: Mapping[str, Any], name: str) -> Table:
    rows: list[list[Cell]] = [
        [
            pair,
            f"{one['mean']:.3f} ({one['low']:.3f}–{one['high']:.3f})",
            "–" if one["sd"] is None else f"{one['sd']:.3f}",
            f"{one['median']:.3f}",
            f"{100 * one['above_0']:.1f}",
        ]
        for pair, one in ((pair, found["pairs"][pair]) for pair in PAIRS if "pairs" in found)
    ]
    if "pairs" in found:
        one = found["apt_minus_inapt"]
        rows.append(
            [
                "target-apt − target-inapt",
                f"{one['mean']:+.3f} ({one['low']:+.3f} – {one['high']:+.3f})",
                "",
                "",
                "",
            ]
        )
    counts = (
        f"{found['used']} of {found['triples']} triples, {found['left_out']} hold a word without a vector"
    )
    columns = ["cosine", "mean (95 % CI)", "sd", "median", "above 0, %"]
    return Table.of_blocks("figure3", f"Figure 3, {name}: {counts}", columns, [rows])
