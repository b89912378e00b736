"""Laws of what is chosen with the context hidden (figlang/tasks/blind.py): no context moves it, and the gain
is the difference."""

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from figlang.commands.compare import main as compare_command
from figlang.config import ModelConfig, PromptConfig, ReportConfig, ScoringConfig
from figlang.evaluation.predicting import How, predict
from figlang.evaluation.processes import Processes
from figlang.models import networks
from figlang.models.checkpoint import Loaded
from figlang.models.manifest import Manifest
from figlang.reports import assembly, showing
from figlang.runs import recomputed, results
from figlang.runs.predictions import read_predictions
from figlang.statistics.metrics import accuracy
from figlang.tasks.blind import distinct
from figlang.tasks.examples import Pool
from figlang.types import CLASSES, Chat, Inference, Item, Marked, Prediction, Reply, Split
from tests import causal_models, masked_models

PAIRS = [
    Item("a-1", "a", "The room was an oven.", ("It was hot.", "It was cold and dark."), 0),
    Item("a-2", "a", "The room was a fridge.", ("It was hot.", "It was cold and dark."), 1),
    Item("b-1", "b", "Time crawled", ("It was slow", "It flew"), 0),
    Item("b-2", "b", "Time had wings", ("It was slow", "It flew"), 1),
]
PREMISES = [
    Inference("x", "x", "A dog runs.", CLASSES, 0, hypothesis="A dog moves."),
    Inference("y", "y", "A dog sleeps.", CLASSES, 2, hypothesis="A cat sleeps in its basket."),
]
QUESTIONS = [
    Item(
        f"{kind}-{number}",
        f"m{number}",
        stem,
        options,
        gold,
        {"question": (kind,), "order": ("right first",)},
    )
    for kind in ("implies", "implied-by")
    for number, (stem, options, gold) in enumerate(
        [
            ("my future is bright", ("there is hope", "there is light"), 0),
            ("her plan sank", ("it failed", "it got wet"), 0),
        ]
    )
]
TRIPLES = [
    Marked(
        f"j-{number}",
        f"j-{number}",
        "Prices soared again.",
        (apt, "baked", "both", "neither"),
        0,
        {"form": ("word",)},
        target=(7, 13),
    )
    for number, apt in enumerate(("rose", "climbed"))
]
OTHER = [
    "The lake lay still.",
    "Nobody came to the door at all",
    "A kite?",
    "She had a bone to pick with him.",
]


def told(items: Sequence[Item]) -> list[Item]:
    """The items with contexts that have nothing to do with theirs."""
    return [replace(item, context=OTHER[place % len(OTHER)]) for place, item in enumerate(items)]


def loaded(format: str, scoring: ScoringConfig | None = None) -> Loaded:
    manifest = Manifest(
        "tiny",
        "here",
        "none",
        format,
        "clean",
        80,
        20.0,
        3,
        "nothing",
        "none",
        None,
        asdict(scoring or ScoringConfig()),
    )
    if format in ("causal", "letter"):
        return Loaded(causal_models.network("llama"), causal_models.tokenizer(), replace(manifest, bos="add"))
    if format == "pll":
        tokenizer = masked_models.word_pieces()
        return Loaded(masked_models.network("bert", tokenizer), tokenizer, manifest)
    torch.manual_seed(0)
    texts = [text for item in (*PAIRS, *told(PAIRS)) for text in (item.context, *item.options)]
    network, tokenizer = networks.build(ModelConfig(init="tiny"), format, texts, 3)
    if format == "nli":
        network.config.id2label = dict(enumerate(CLASSES))
        network.config.label2id = {name: index for index, name in enumerate(CLASSES)}
    return Loaded(network.eval(), tokenizer, manifest)


def replies(_: Any, chats: Sequence[Chat], *__: Any) -> list[list[Reply]]:
    """A chat model that reads all of a message: any other message may get another letter."""
    return [[Reply("AB"[sha256(chat[-1].content.encode()).digest()[0] % 2], False)] for chat in chats]


CHAT = ScoringConfig("letter", kind="letter")
EXAMPLES = Pool(("It was a sea of troubles. There were many.",), "here")
WAYS: dict[str, tuple[str, ScoringConfig | None, PromptConfig, Sequence[Item]]] = {
    **{format: (format, None, PromptConfig(), PAIRS) for format in ("pair", "joint", "dual")},
    "nli": ("nli", None, PromptConfig(), PAIRS),
    "nli, premises": ("nli", None, PromptConfig(), PREMISES),
    "nli, questions": ("nli", None, PromptConfig(), QUESTIONS),
    "pll": ("pll", ScoringConfig("pll", kind="pll"), PromptConfig(), PAIRS),
    "clean": ("causal", ScoringConfig(), PromptConfig(), PAIRS),
    "answer": ("causal", ScoringConfig("answer", span="answer", norm="sum"), PromptConfig(), PAIRS),
    "pmi": (
        "causal",
        ScoringConfig("pmi", span="answer", norm="sum", minus_alone=True),
        PromptConfig(),
        PAIRS,
    ),
    "suffix": ("causal", ScoringConfig(), PromptConfig("suffix", "That is to say, "), PAIRS),
    "template": (
        "causal",
        ScoringConfig(),
        PromptConfig("own", template='"{metaphor}" means: {answer}'),
        PAIRS,
    ),
    "examples": ("causal", ScoringConfig(), PromptConfig("k1", k=1, source="here"), PAIRS),
    "questions": ("causal", None, PromptConfig("q", question="qa", per="item"), QUESTIONS),
    "statements": (
        "causal",
        ScoringConfig("pmi", span="answer", backward_span="answer", norm="sum", minus_alone=True),
        PromptConfig("statement", question="no_choices", template="{stem}.", case="all"),
        QUESTIONS,
    ),
    "triples": ("causal", None, PromptConfig("munch", question="CTWT52", reply="letter"), TRIPLES),
    "triples, greedy": ("causal", None, PromptConfig("munch", question="CTWT52", reply="greedy"), TRIPLES),
    "letters": ("letter", CHAT, PromptConfig(), PAIRS),
    "letters, questions": ("letter", CHAT, PromptConfig("numbered", question="numbered"), QUESTIONS),
    "letters, triples": ("letter", CHAT, PromptConfig("munch", question="CTWT52", reply="letter"), TRIPLES),
}


def split_of(items: Sequence[Item], like: Sequence[Item]) -> Split:
    """A split of items of the same task as those of a way of asking."""
    tasks = {id(QUESTIONS): ("miqa", "both"), id(TRIPLES): ("munch", "word"), id(PREMISES): ("snli", "both")}
    task, question = tasks.get(id(like), ("", ""))
    return Split("own", tuple(items), "here", "0" * 64, task=task, question=question)


def evaluated(
    way: str, folder: Path, change: Callable[[Sequence[Item]], list[Item]] = list, **fields: Any
) -> dict[str, Any]:
    """A metrics.json of an evaluation by a way of asking."""
    folder.mkdir(exist_ok=True)
    format, scoring, prompt, items = WAYS[way]
    split = split_of(change(items), items)
    how = How(scoring=scoring, prompt=prompt, pool=EXAMPLES if prompt.source == "here" else Pool(), **fields)
    facts = predict(loaded(format, scoring), split, folder, how)
    return results.Evaluated("tiny", facts, split, "validation", "own", 0).document(folder)


@pytest.fixture(autouse=True)
def chat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("figlang.evaluation.generation.converse", replies)


@pytest.mark.parametrize("way", WAYS)
def test_no_context_moves_what_is_chosen_without_it(way: str, tmp_path: Path) -> None:
    first, second = evaluated(way, tmp_path / "one"), evaluated(way, tmp_path / "two", told)
    one, other = (read_predictions(tmp_path / name / "predictions_blind.jsonl") for name in ("one", "two"))
    assert [replace(row, scores=()) for row in one] == [replace(row, scores=()) for row in other]
    for row, again in zip(one, other, strict=True):  # strings that are read together round each other
        assert row.choice == again.choice
        assert row.scores == pytest.approx(again.scores, abs=1e-4)
    seen, unseen = (
        read_predictions(tmp_path / "one" / name) for name in ("predictions.jsonl", "predictions_blind.jsonl")
    )
    assert [row.id for row in seen] == [row.id for row in unseen]
    assert [(row.group, row.gold, row.attributes) for row in seen] == [
        (row.group, row.gold, row.attributes) for row in unseen
    ]
    changed = read_predictions(tmp_path / "two" / "predictions.jsonl")
    if "letters" not in way and "greedy" not in way:  # which may fall on the same letter
        assert [row.scores for row in seen] != [row.scores for row in changed], "else nothing was changed"
    assert first["blind"] == second["blind"]
    assert first["blind"]["accuracy"]["n"] == first["gain"]["n"] == len(seen)


@pytest.mark.parametrize("way", WAYS)
def test_the_gain_is_the_difference_by_hand(way: str, tmp_path: Path) -> None:
    content = evaluated(way, tmp_path)
    rows = zip(
        *(read_predictions(tmp_path / f"predictions{part}.jsonl") for part in ("", "_blind")), strict=True
    )
    moved = [bool(seen.correct) - bool(unseen.correct) for seen, unseen in rows]
    assert content["gain"]["value"] == pytest.approx(sum(moved) / len(moved))
    assert content["gain"]["low"] <= content["gain"]["value"] <= content["gain"]["high"]
    difference = content["metrics"]["accuracy"]["value"] - content["blind"]["accuracy"]["value"]
    assert content["gain"]["value"] == pytest.approx(difference)


@pytest.mark.parametrize("way", WAYS)
def test_a_switch_leaves_it_out_and_changes_nothing_else(way: str, tmp_path: Path) -> None:
    whole = evaluated(way, tmp_path)
    scores = [row.scores for row in read_predictions(tmp_path / "predictions.jsonl")]
    content = evaluated(way, tmp_path, blind=False)
    assert not (tmp_path / "predictions_blind.jsonl").exists(), "one of an earlier evaluation goes"
    assert content["facts"] == whole["facts"]
    assert "blind" not in content
    assert "gain" not in content
    for row, before in zip(read_predictions(tmp_path / "predictions.jsonl"), scores, strict=True):
        assert row.scores == pytest.approx(before, abs=1e-5)


class Second(Processes):
    """One of two processes, whose shares are gathered by hand."""

    def gather(self, found: Any) -> list[Any]:
        shares.append(found)
        return [] if len(shares) < 2 else list(shares)


shares: list[Any] = []


@pytest.mark.parametrize("way", [way for way in WAYS if "letters" not in way])
def test_two_processes_write_the_file_of_one(way: str, tmp_path: Path) -> None:
    evaluated(way, tmp_path / "one")
    shares.clear()
    for rank in (0, 1):
        format, scoring, prompt, items = WAYS[way]
        pool = EXAMPLES if prompt.source == "here" else Pool()
        how = How(scoring=scoring, prompt=prompt, pool=pool, processes=Second(rank, 2))
        (tmp_path / "two").mkdir(exist_ok=True)
        predict(loaded(format, scoring), split_of(items, items), tmp_path / "two", how)
    one, two = (read_predictions(tmp_path / name / "predictions_blind.jsonl") for name in ("one", "two"))
    assert [row.id for row in one] == [row.id for row in two]
    for row, other in zip(one, two, strict=True):
        assert row.scores == pytest.approx(other.scores, abs=1e-4)


@pytest.mark.parametrize("way", ["pair", "joint", "dual", "clean", "answer", "pmi", "pll"])
def test_both_items_of_a_pair_get_the_same_choice(way: str, tmp_path: Path) -> None:
    content = evaluated(way, tmp_path)
    assert content["blind"]["accuracy"]["value"] == 0.5
    assert content["blind"]["pair_accuracy"]["value"] == 0
    assert content["gain"]["value"] == pytest.approx(content["metrics"]["accuracy"]["value"] - 0.5)


@pytest.mark.parametrize("way", ["clean", "answer", "pmi", "examples"])
def test_by_log_probabilities_it_is_the_answer_alone_which_is_measured_anyway(
    way: str, tmp_path: Path
) -> None:
    evaluated(way, tmp_path)
    norm = (WAYS[way][1] or ScoringConfig()).norm
    rows = [json.loads(line) for line in (tmp_path / "log_probabilities.jsonl").read_text().splitlines()]
    alone = [
        tuple(total / (tokens if norm == "mean" else 1) for total, tokens, _ in row["answer_alone"])
        for row in rows
    ]
    assert [row.scores for row in read_predictions(tmp_path / "predictions_blind.jsonl")] == alone


def test_hidden_labels_have_no_gain(tmp_path: Path) -> None:
    content = evaluated("dual", tmp_path, lambda items: [replace(item, gold=None) for item in items])
    assert content["blind"]["hidden"] == len(PAIRS)
    assert "gain" not in content


def test_options_that_come_again_are_read_once() -> None:
    kept, places = distinct([item.hidden() for item in PAIRS])
    assert [item.id for item in kept] == ["a-1", "b-1"]
    assert places == [0, 0, 1, 1]
    both = [replace(PREMISES[0], hypothesis=text).hidden() for text in ("A dog moves.", "A dog sleeps.")]
    assert distinct(both)[1] == [0, 1], "what differs in its hypothesis is not the same"
    kinds = [item.hidden() for item in QUESTIONS if item.group == "m0"]
    assert distinct(kinds)[1] == [0, 1], "premise and conclusion change places"


def test_a_tokenizer_that_makes_nothing_of_nothing_has_no_empty_text_to_compare_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    network = loaded("dual")
    network.tokenizer.backend_tokenizer.post_processor = None
    monkeypatch.setattr("tests.tasks.test_blind.loaded", lambda *_: network)
    assert "blind" not in evaluated("dual", tmp_path)
    assert "gives no token for an empty text" in caplog.text


# Templates without the context


def test_a_template_of_the_answer_alone_is_blind_already(tmp_path: Path) -> None:
    WAYS["alone"] = ("causal", ScoringConfig(template="{answer}"), PromptConfig(), PAIRS)
    content = evaluated("alone", tmp_path)
    one, other = ((tmp_path / f"predictions{part}.jsonl").read_text() for part in ("", "_blind"))
    assert one == other
    assert content["gain"]["value"] == 0
    assert "accuracy" not in content["backward"], "every metaphor would fit alike"
    del WAYS["alone"]


# Where it is shown


def folder_of(way: str, folder: Path, **fields: Any) -> Path:
    results.write(folder / "metrics.json", evaluated(way, folder, **fields))
    return folder


def table_of(folder: Path, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((folder / f"{name}.csv").read_text())))


def test_the_terminal_shows_both(tmp_path: Path) -> None:
    console = Console(file=io.StringIO(), width=120)
    showing.show(evaluated("dual", tmp_path), tmp_path, console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert re.search(r"blind accuracy +50\.00 %", shown)
    assert re.search(r"gain over blind +[+-]\d", shown)


def test_systems_are_compared_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [
        folder_of("dual", tmp_path / "dual"),
        folder_of("pair", tmp_path / "pair"),
        folder_of("joint", tmp_path / "old", blind=False),
    ]
    monkeypatch.setattr("sys.argv", ["compare.py", *map(str, places), f"output={tmp_path / 'tables'}"])
    compare_command()
    shown = table_of(tmp_path / "tables", "systems")  # in the order of their ranks
    known = {
        f"{recomputed.read(place / 'metrics.json').get('gain', {}).get('value', '')}" for place in places
    }
    assert {row["gain over blind"] for row in shown} == known
    assert all(row["blind accuracy"] == ("0.5" if row["gain over blind"] else "") for row in shown)


def test_the_report_has_it(tmp_path: Path) -> None:
    places = [
        str(folder_of("dual", tmp_path / "dual")),
        str(folder_of("joint", tmp_path / "old", blind=False)),
    ]
    page = assembly.write(ReportConfig(places, analysis="off"), tmp_path / "report").read_text()
    assert "gain over blind" in page
    rows = table_of(tmp_path / "report" / "tables", "summary")
    assert float(rows[0]["blind accuracy"]) == 0.5
    assert rows[1]["blind accuracy"] == rows[1]["gain over blind"] == ""
    assembly.write(ReportConfig(places[1:], analysis="off"), tmp_path / "old-report")
    assert "blind accuracy" not in table_of(tmp_path / "old-report" / "tables", "summary")[0]


def test_old_folders_have_neither(tmp_path: Path) -> None:
    evaluated("dual", tmp_path)
    (tmp_path / "predictions_blind.jsonl").unlink()
    split = Split("own", tuple(PAIRS), "here", "0" * 64)
    content = results.Evaluated("tiny", {}, split, "validation", "own", 0).document(tmp_path)
    assert not {"blind", "gain"} & content.keys()


def test_its_accuracy_is_that_of_its_file(tmp_path: Path) -> None:
    content = evaluated("nli", tmp_path)
    found = accuracy(read_predictions(tmp_path / "predictions_blind.jsonl"))
    assert found is not None
    assert content["blind"]["accuracy"]["value"] == found.value
    assert all(isinstance(row, Prediction) for row in read_predictions(tmp_path / "predictions_blind.jsonl"))
