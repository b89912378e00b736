"""One command asks in five wordings and says how far apart they are."""

import re
from pathlib import Path

import pytest

from figlang.commands.sensitivity import main as sensitivity_command
from figlang.config import SensitivityConfig, calling
from figlang.errors import FiglangError
from figlang.runs.predictions import read_predictions
from tests.needing import needs
from tests.stub_server import Stub, serving

needs("openai", "needs the extra `served`")


def run(monkeypatch: pytest.MonkeyPatch, stub: Stub, *words: str) -> None:
    quiet = ["trainer=cpu", "trainer.progress=false", "trainer.threads=1", "data.limit=8", "output=out"]
    monkeypatch.setattr("sys.argv", ["sensitivity.py", *stub.words, "paths.cache=cache", *quiet, *words])
    sensitivity_command()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("figqa_sample", ()),
        ("miqa_sample", ()),
        ("munch_sample", ("prompt=munch", "data.question=word")),
        ("own_sample", ()),
    ],
)
def test_five_wordings_of_every_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: str, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(Stub(completes=False, reply=lambda message: "A")) as stub:
        run(monkeypatch, stub, f"data={data}", "protocol=letter", *words)
        messages = {body["messages"][-1]["content"] for body in stub.seen}
    folders = [path for path in (tmp_path / "out").iterdir() if path.is_dir()]
    assert len(folders) == 5
    counts = {len(read_predictions(folder / "predictions.jsonl")) for folder in folders}
    assert len(counts) == 1
    assert len(messages) == 5 * counts.pop(), "no two wordings are the same"
    written = (tmp_path / "out" / "sensitivity.md").read_text()
    assert "mean ± sd" in written
    assert "range" in written


def test_the_numbers_are_those_of_the_wordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(Stub(completes=False, reply=lambda text: "?" if "speaker" in text else "A")) as stub:
        words = ("data=figqa_sample", "protocol=letter", "wordings=[meaning,speaker]")
        run(monkeypatch, stub, *words)
    written = (tmp_path / "out" / "sensitivity.md").read_text()
    assert "0.0 – 50.0 %" in written, "right in one order only, and not read at all"
    assert "25.0" in written
    assert "100.0" in written
    assert re.search(r"\b0 of [1-9]\d* questions have the same choice in all wordings", written)


def test_what_cannot_be_worded_otherwise_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for words, expected in (
        (("protocol=score",), "asks no question that could be worded otherwise"),
        (("scoring=clean",), "figlang sensitivity asks chat models"),
        (("protocol=letter", "wordings=[meaning,other]"), "wordings=other is not a wording"),
        (("protocol=letter", "wordings=[meaning]"), "give two wordings or more"),
    ):
        with serving(Stub(completes=False)) as stub, pytest.raises(SystemExit):
            run(monkeypatch, stub, "data=figqa_sample", *words)
        assert expected in capsys.readouterr().err


@pytest.mark.parametrize("words", [("protocol=letter",), ()])
def test_an_encoder_is_refused_since_it_cannot_chat(words: tuple[str, ...]) -> None:
    """Before, the first error asked for a protocol, and with one the second said to leave it out."""
    with pytest.raises(FiglangError, match="asks chat models, but minilm is an encoder; give a causal"):
        calling.options("sensitivity", SensitivityConfig, ["model=minilm", *words])
