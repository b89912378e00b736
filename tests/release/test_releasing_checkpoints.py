"""Figlang's own checkpoints: each fits its files, loads by its card alone and gives its numbers again."""

import ast
import io
import json
import os
import re
import subprocess
import sys
import warnings
from contextlib import chdir, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from unittest.mock import patch

import pytest
from huggingface_hub import try_to_load_from_cache

from evaluate import main as evaluate_command
from figlang.config import DataConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.files import ownership
from figlang.files.sources import local_path
from figlang.models.manifest import Manifest
from figlang.release import card
from figlang.runs.predictions import read_predictions
from figlang.scoring.encode import word
from figlang.statistics.metrics import METRICS, accuracy, pair_accuracy, spread
from figlang.tasks import registry as data
from tests import cards
from tests.conftest import ROOT, published
from tests.documents import metrics_of
from tests.sampled import sampled

FOLDERS = sorted(path.parent for path in (ROOT / "checkpoints").glob("*/figlang.json"))
MPNET_ID = "sentence-transformers/all-mpnet-base-v2"
MPNET = os.environ.get("FIGLANG_MPNET", "")  # a folder of all-mpnet-base-v2
each = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
# A network is read for each of the others: here one encoder and one causal model.
SOME = [folder for folder in FOLDERS if folder.name in ("minilm-figqa-distilled", "smollm2-multitask")]
some = pytest.mark.parametrize("folder", sampled(FOLDERS, *SOME), ids=lambda folder: folder.name)


def with_base(folder: Path) -> str | None:
    """A folder with a copy of the network below a checkpoint; None if the network is here by its own name.

    The test is skipped if neither is here.
    """
    base = json.loads((folder / "figlang.json").read_text())["base"]
    if base == MPNET_ID:
        if isinstance(try_to_load_from_cache(base, "config.json"), str):
            return None
        return MPNET or pytest.skip(f"{base} is not in the hub's cache, and FIGLANG_MPNET names no folder")
    try:
        local_path(base)
    except FiglangError as error:
        pytest.skip(f"{base} is not installed: {error}")
    return None


def over(base: str | None, code: str) -> str:
    """The code of a card, with a folder in place of the name of its network."""
    return code.replace(f'base = "{MPNET_ID}"', f"base = {base!r}") if base else code


def test_cards_are_told_apart_by_their_titles() -> None:
    for folder in FOLDERS:
        lines = (folder / "README.md").read_text().splitlines()
        assert next(line for line in lines if line.startswith("# ")) == f"# {folder.name}"


def test_the_lists_of_their_files_are_up_to_date() -> None:
    """A file with another hash would pass for one that its user changed."""
    stale = {
        f"{folder.name}/{name}"
        for folder in FOLDERS
        for name in ownership.listed(folder)
        if not ownership.is_as_written(folder, name)
    }
    assert not stale, "after a change by hand: python -m figlang release name=NAME card=true"


@each
def test_its_numbers_are_those_of_its_predictions(folder: Path) -> None:
    rows, stated = read_predictions(folder / "predictions.jsonl"), metrics_of(folder)["metrics"]
    for name, found in (("accuracy", accuracy(rows)), ("pair_accuracy", pair_accuracy(rows))):
        assert found is not None
        assert stated[name]["value"] == pytest.approx(found.value)
        assert f"| {100 * found.value:.2f} % |" in (folder / "README.md").read_text()
    assert len(rows) == 1094


@each
def test_its_intervals_are_those_of_its_predictions(folder: Path) -> None:
    rows, stated = read_predictions(folder / "predictions.jsonl"), metrics_of(folder)["metrics"]
    for name, metric in METRICS.items():
        found = metric(rows)
        assert (found is None) == (name not in stated)
        if found is not None:
            numbers = {field: value for field, value in asdict(found).items() if value is not None}
            assert numbers == pytest.approx(
                {field: value for field, value in stated[name].items() if value is not None}, rel=1e-6
            )


@each
def test_its_card_is_what_metrics_json_says(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("figlang.files.hub.check", pytest.fail)  # a card is written where there is no hub
    manifest = Manifest(**json.loads((folder / "figlang.json").read_text()))
    assert (folder / "README.md").read_text() == card.card(manifest, metrics_of(folder))


@each
def test_how_it_was_chosen_stands_below_the_numbers(folder: Path) -> None:
    text = (folder / "README.md").read_text()
    note = metrics_of(folder)["release"].get("note")
    if note:
        assert text.index("| accuracy |") < text.index(note) < text.index("## Reproduce")
    assert text.count("`model.base=FOLDER`") + text.count("`model.base=FILE`") == 1


def test_a_card_says_where_likelihoods_are_of_whole_texts() -> None:
    read = {folder.name: (folder / "README.md").read_text() for folder in FOLDERS}
    said = [name for name, text in read.items() if "These are of whole texts" in text]
    assert said == ["smollm2-figqa-large-lm"]
    begun = re.compile(r"before and after: right answers (\S+) and")
    before = {first for name in read.keys() - said for first in begun.findall(read[name])}
    assert before == {"-3.13"}, "answers alone, of the same base"


@each
def test_the_runs_of_its_recipes_stand_on_its_card(folder: Path) -> None:
    seeds, text = metrics_of(folder)["release"]["seeds"], (folder / "README.md").read_text()
    if "shares" in metrics_of(folder):
        accuracies = " | ".join(f"{100 * one['accuracy']:.2f} %" for one in seeds)
        assert f" | {accuracies} |" in text
        return
    assert [one["seed"] for one in seeds] == list(range(len(seeds)))
    if len(seeds) == 1:
        assert "**One seed was trained**" in text
        return
    mean, deviation = (100 * value for value in spread([one["accuracy"] for one in seeds]))
    assert f"| {mean:.1f} ± {deviation:.1f} |" in text


@each
def test_it_is_small_and_names_no_place_of_the_machine_that_made_it(folder: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 32 * 2**20
    for path in files:
        if path.suffix in (".json", ".jsonl", ".md", ".yaml"):
            assert not re.search(r"/(root|home|Users|tmp|work)/", path.read_text()), path


@some
def test_it_makes_its_first_predictions_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = with_base(folder)
    where = [
        *([f"model.base={base}"] if base else []),
        f"paths.data={published('figqa/filtered/dev.csv')}",
        f"output={tmp_path}",
        "blind=false",
        "trainer=cpu",
        "trainer.progress=false",
    ]
    monkeypatch.setattr(
        sys, "argv", ["evaluate.py", f"checkpoint={folder}", "data=figqa_large", "data.limit=40", *where]
    )
    evaluate_command()
    again, stated = (
        read_predictions(tmp_path / "predictions.jsonl"),
        read_predictions(folder / "predictions.jsonl"),
    )
    for one, other in zip(again, stated[:40], strict=True):
        assert one.id == other.id
        # Processors multiply in different orders.
        assert one.scores == pytest.approx(other.scores, abs=1e-2)


@some
# The lines call peft 0.21, which causes it.
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated")
def test_the_lines_of_its_card_score_as_it_does(folder: Path) -> None:
    base = with_base(folder)
    root = published("figqa/filtered/dev.csv")
    item = data.load(
        "validation", DataConfig(name="figqa_large", size="large"), PathsConfig(data=root)
    ).items[0]
    options = [word(option, "clean") for option in item.options]
    text = over(base, (folder / "README.md").read_text())
    found = cards.scores(text, folder, word(item.context, "clean"), options)
    assert found == pytest.approx(read_predictions(folder / "predictions.jsonl")[0].scores, abs=1e-2)


def printed() -> dict[str, tuple[Path, str]]:
    """Each piece of code that stands on a card, by its library and the first folder whose card has it.

    Cards of one base and one scoring have the same code.
    """
    first: dict[str, tuple[str, Path]] = {}
    for folder in FOLDERS:
        for library, code in cards.blocks((folder / "README.md").read_text()).items():
            first.setdefault(code, (library, folder))
    return {f"{library}-{folder.name}": (folder, code) for code, (library, folder) in first.items()}


def begun(code: str) -> str:
    """What code does until it has a network and a tokenizer."""
    return code[: code.find("\ntokenizer = ")]


def alone(code: str, folder: Path) -> str:
    """What code prints in a process of its own, in which transformers reads a GGUF file once."""
    ended = subprocess.run(
        [sys.executable, "-c", f"{cards.READ_ONCE}{code}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def here(code: str, folder: Path) -> str:
    """What code prints in this process, which reads a GGUF file once for all codes.

    tqdm has been imported, so it shows the reading, unlike in a process of its own. Warnings are errors.
    """
    out = io.StringIO()
    with (
        chdir(folder),
        patch.dict(os.environ),
        warnings.catch_warnings(),
        cards.gguf_read_once(),
        redirect_stdout(out),
    ):
        exec(code, {"__name__": "__main__"})
    return out.getvalue()


FOR_MINILM = [which for which in printed() if "minilm" in which]


@pytest.mark.parametrize("which", sampled(printed(), *FOR_MINILM))
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated")
def test_the_code_of_a_card_runs_as_it_is_printed(which: str) -> None:
    """In a process of its own, unless another code begins in the same way and has one."""
    folder, code = printed()[which]
    base = with_base(folder)
    first = next(other for other, (_, known) in printed().items() if begun(known) == begun(code))
    (line,) = (alone if first == which else here)(over(base, code), folder).splitlines()
    if which.startswith("transformers"):
        scores = ast.literal_eval(line)
        line = max(scores, key=scores.get)
    assert line == "Her voice was soft."
