"""Tables of judges beside people."""

from collections.abc import Mapping
from typing import Any

from figlang.rating.calibrating import SCORE
from figlang.tables import Cell, Mean, Number, Range, Table

ONLY_A_JUDGE = (
    "No person has rated these answers: every number here is a judge's, not people's. Let people rate a "
    "random part of the sheet (its order is random, so the first rows will do) and give ratings=[FILE.csv,…]."
)
ALONE = "people alone"


def tables(content: Mapping[str, Any]) -> list[Table]:
    """The tables of a document of `figlang.rating.calibrating`."""
    made = [_agreement(content)] if content["agreement"] else []
    shares = _shares(content) if content["rated"] else _own(content)
    made += [shares] if shares.rows else []
    return [*made, _correlations(content)] if content["correlations"] else made


def below(content: Mapping[str, Any]) -> list[str]:
    """Lines below the tables."""
    lines = [
        f"{name}: {count} of {content['answers']} answers without a rating; the reasons are in "
        f"judges/{name}/ratings.jsonl"
        for name, count in content["unread"].items()
        if count
    ]
    lines += [
        f"{name}: it gave {word} to every answer that it rated, so that it tells none apart"
        for name, word in content["one_word"].items()
    ]
    if not content["rated"]:
        return [ONLY_A_JUDGE, *_metrics(content), *lines]
    if content["rated"] == content["answers"]:
        lines.append("People have rated all answers, so that a judge adds nothing to the shares.")
    return lines


def _metrics(content: Mapping[str, Any]) -> list[str]:
    """A line about those that measure likeness. Without people's ratings no table has them."""
    names = list(
        dict.fromkeys(
            name for row in content["shares"] for name, one in row["judges"].items() if one["own"] is None
        )
    )
    if not names:
        return []
    return [
        f"In no table: {', '.join(names)}. A measure of likeness rates nothing; with ratings=[FILE.csv,…] it "
        "is compared with people."
    ]


def _agreement(content: Mapping[str, Any]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            row["rater"],
            row["n"],
            None if row["same"] is None else Mean(row["same"]),
            *(_number(row[name]) for name in ("kappa", "alpha_nominal", "alpha_interval", "icc")),
        )
        for row in content["agreement"]
    ]
    columns = ("rater", "n", "same, %", "kappa", "alpha nominal", "alpha interval", "ICC(2,1)")
    note = (
        f"Means over pairs of two raters: two of {content['raters']} people, or a judge and each of them. n: "
        "pairs of codes."
    )
    return Table("agreement", "Agreement with people", columns, tuple(rows), (note,), ruled=(1,))


def _shares(content: Mapping[str, Any]) -> Table:
    """For each system and quantity a block: people alone, then each judge."""
    columns = ("what", "rater", "own, %", "people's share, %", "slope", "worth")
    several = len({row["system"] for row in content["shares"]}) > 1
    blocks = [_block(row, several) for row in content["shares"]]
    made = Table.of_blocks("shares", "People's share of all answers, estimated", columns, blocks)
    notes = (
        "own: the judge's own ratings of all answers. people's share: the share that people would find, with "
        "a 95 % interval, by prediction-powered inference from the judge's ratings of all and people's of "
        f"{content['rated']} of {content['answers']} answers, which must be a random part.",
        "slope: how far people's ratings move with the judge's; 0 leaves people alone. worth: so many "
        "ratings by people alone would give as short an interval.",
    )
    return Table(made.name, made.title, made.columns, made.rows, notes, made.ruled)


def _block(row: Mapping[str, Any], several: bool) -> list[tuple[Cell, ...]]:
    what = _what(row, several)
    block: list[tuple[Cell, ...]] = []
    if (people := row["people"]) is not None:
        block.append((what, ALONE, None, _estimate(people), None, str(people["rated"])))
    for name, judge in row["judges"].items():
        found = judge["corrected"]
        block.append(
            (
                what,
                name,
                None if judge["own"] is None else Mean(judge["own"]),
                None if found is None else _estimate(found),
                None if found is None else Number(found["slope"]),
                None if judge["worth"] is None else f"{judge['worth']:.0f}",
            )
        )
    return block


def _own(content: Mapping[str, Any]) -> Table:
    """The table of the judges' ratings alone, without people's."""
    several = len({row["system"] for row in content["shares"]}) > 1
    blocks = [
        [
            (_what(row, several), name, Mean(judge["own"]), judge["read"])
            for name, judge in row["judges"].items()
            if judge["own"] is not None
        ]
        for row in content["shares"]
    ]
    return Table.of_blocks(
        "shares", "Ratings by judges, not by people", ("what", "judge", "own, %", "n"), blocks
    )


def _what(row: Mapping[str, Any], several: bool) -> str:
    return f"{row['system']}: {row['quantity']}" if several else str(row["quantity"])


def _estimate(found: Mapping[str, Any]) -> Mean:
    return Mean(found["value"], None, found["low"], found["high"], found["rated"])


def _correlations(content: Mapping[str, Any]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for row in content["correlations"]:
        found = row["pearson"]
        r = None if found is None else Number(found["r"])
        interval = None if found is None else Range(found["low"], found["high"])
        n = None if found is None else found["n"]
        rows.append((row["quantity"], row["judge"], n, r, interval, _number(row["spearman"])))
    columns = ("what", "judge or metric", "n", "Pearson's r", "95 % interval", "Spearman's rho")
    scored = any(row["quantity"] == SCORE for row in content["shares"])
    title = "Correlation with people's score" if scored else "Correlation with whether people gave the word"
    starts = [place for place, row in enumerate(rows) if place and row[0] != rows[place - 1][0]]
    return Table("correlations", title, columns, tuple(rows), (), tuple(starts))


def _number(value: float | None) -> Number | None:
    return None if value is None else Number(value)
