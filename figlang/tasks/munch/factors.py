"""MUNCH's Tables 10 to 12 (Tong et al. 2024): whether right answers depend on novelty, genre or part of
speech, for judgement and for generation."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from figlang.statistics import association
from figlang.statistics.association import Case
from figlang.statistics.metrics import Estimate
from figlang.tables import Cell, PValue, Table
from figlang.tables import effort as cost
from figlang.tasks.munch.published import table as printed_table
from figlang.tasks.munch.reading import GENRES
from figlang.tasks.reference import Published

# Universal tags: the letters of the paper's Tables 1 and 12.
PARTS = {"NOUN": "N", "PROPN": "N", "VERB": "V", "AUX": "V", "ADJ": "A", "ADV": "R"}
CLASSES = {"genre": GENRES, "pos": ("N", "V", "A", "R")}
FOOTNOTE = (
    "p: {}, which take cases as independent; Holm: corrected for all {} tests of the list; by sentence: "
    "takes sentences "
    "as independent, as the intervals do. Classes with fewer than {} cases, or of a single sentence, are not "
    "tested."
)
UNTESTED = "No difference is tested: classes have fewer than {} cases, or a single sentence."


def measure(rows: Sequence[Case], quantity_test: str, class_test: str, least: int) -> dict[str, Any]:
    """Novelty of right and wrong answers, shares of right ones by genre and part of speech, and the tests
    between them, as plain data.

    The first test of an attribute compares its highest with its lowest class.

    Args:
        rows: Every answer with its properties.
        quantity_test: The test of quantities such as novelty.
        class_test: The test of classes such as genre.
        least: Fewest answers of a class.
    """
    novelty = association.means(rows, "novelty", quantity_test)
    found = {"novelty": [] if novelty.difference is None else [novelty.difference]}
    shares = {}
    for attribute, names in CLASSES.items():
        members: dict[str, list[Case]] = {name: [] for name in names}
        for row in rows:
            for value in row.attributes.get(attribute, ()):
                members.get(PARTS.get(value, value), []).append(row)
        members = {name: some for name, some in members.items() if some}
        shares[attribute] = {name: asdict(association.share(some)) for name, some in members.items()}
        found[attribute] = association.pairs(members, class_test, least)
    corrected = iter(association.holm([one for several in found.values() for one in several]))
    tests = [{"of": name, **asdict(next(corrected))} for name, several in found.items() for _ in several]
    how = {"quantity_test": quantity_test, "class_test": class_test, "least": least}
    return {"n": len(rows), "novelty": asdict(novelty), **shares, "tests": tests, **how}


def _mean_and_deviation(novelty: Mapping[str, Any]) -> list[str]:
    """Mean ± standard deviation of right and of wrong answers; a dash if there are none."""
    sides = [(novelty[side]["mean"], novelty[side]["sd"]) for side in ("right", "wrong")]
    return [
        "–" if mean is None else f"{mean:.3f} ± {'–' if sd is None else f'{sd:.3f}'}" for mean, sd in sides
    ]


def tables(found: Mapping[str, Any], model: str, what: str, task: str, published: bool) -> list[Table]:
    """The three tables, and the tests if there are some.

    Args:
        found: The result of `measure`.
        model: Name of the model.
        what: What the answers are, for headings.
        task: judgement or generation.
        published: Whether published rows stand beside.
    """
    theirs = {number: _rows(number, task) if published else {} for number in (10, 11, 12)}
    novelty, cells = found["novelty"], _mean_and_deviation(found["novelty"])
    ten = Table.of_blocks(
        "table10",
        f"Table 10, novelty of right and wrong answers, {what}",
        ["", "right", "wrong", ""],
        [
            [[model, *cells, f"n {novelty['right']['n']} + {novelty['wrong']['n']}"]],
            [
                [
                    name,
                    *(_of(rows, "answers", side, "{:.2f}") for side in ("correct", "incorrect")),
                    rows[0].note.partition(" per")[0],
                ]
                for name, rows in theirs[10].items()
            ],
        ],
    )
    made = [ten]
    for number, attribute in ((11, "genre"), (12, "pos")):
        shares = found[attribute]
        own: list[list[Cell]] = [
            [model, *(Estimate(**shares[name]) if name in shares else None for name in CLASSES[attribute])],
            ["n", *(shares[name]["n"] if name in shares else None for name in CLASSES[attribute])],
        ]
        rows: list[list[Cell]] = [
            [name, *(_of(some, attribute, value, "{:.0%}") for value in CLASSES[attribute])]
            for name, some in theirs[number].items()
        ]
        title = f"Table {number}, right answers in %, {what}"
        made.append(
            Table.of_blocks(f"table{number}", title, ["", *CLASSES[attribute]], [own, rows], brief=True)
        )
    tested: list[list[Cell]] = [
        [
            f"{test['of']}: {test['high']} – {test['low']}",
            f"{test['value']:+.3f} ({test['interval'][0]:+.3f} – {test['interval'][1]:+.3f})",
            *(None if test[name] is None else PValue(test[name]) for name in ("p", "p_holm", "p_clustered")),
        ]
        for test in found["tests"]
    ]
    if tested:
        heading = ["difference", "value (95 % CI)", "p", "Holm", "p by sentence"]
        made.append(Table.of_blocks("tests", f"Tests of Tables 10 to 12, {what}", heading, [tested]))
    return made


def below(content: Mapping[str, Any], first: str) -> list[str]:
    """The lines below the tables of a metrics.json, of which `first` is the first."""
    return [
        first,
        footnote(content["factors"]),
        cost.sentence(content["took"]),
        f"signature {content['signature']}",
    ]


def footnote(found: Mapping[str, Any]) -> str:
    """A sentence that names the tests, or why there are none."""
    if not found["tests"]:
        return UNTESTED.format(found["least"])
    return FOOTNOTE.format(
        f"{found['quantity_test']} of novelty, {found['class_test']} of classes",
        len(found["tests"]),
        found["least"],
    )


def _rows(number: int, task: str) -> dict[str, list[Published]]:
    """Rows of a published table by model."""
    rows: dict[str, list[Published]] = {}
    for row in printed_table(f"Table {number}"):
        if row.setting["task"] == task:
            rows.setdefault(row.model, []).append(row)
    return rows


def _of(rows: Sequence[Published], key: str, value: str, form: str) -> str:
    return next(
        (form.format(row.value).removesuffix("%") for row in rows if row.setting.get(key) == value), "–"
    )
