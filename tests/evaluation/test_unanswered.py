"""Empty answers in free text are counted with their reasons, since raters see them as answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from figlang.commands.generate import main as generate_command
from tests.needing import needs
from tests.stub_server import Stub, serving

needs("openai", "needs the extra `served`")


def generated(monkeypatch: pytest.MonkeyPatch, folder: Path, ends: list[tuple[str, str]]) -> list[str]:
    """The answers of a server whose replies and their ends take turns."""
    given: list[str] = []

    def reply(stub: Stub, body: dict[str, Any]) -> tuple[int, dict[str, str], str] | None:
        if "messages" not in body or "That is to say" not in str(body):
            return None
        given.append(text := ends[len(given) % len(ends)][0])
        choice = {"message": {"content": text}, "finish_reason": dict(ends)[text]}
        return 200, {}, json.dumps({"choices": [choice]})

    monkeypatch.chdir(folder)
    with serving(Stub(completes=False, fault=reply)) as stub:
        served = [*stub.words, "paths.cache=cache"]
        words = ["data=figqa_sample", "data.limit=8", "output=out", "trainer.progress=false"]
        monkeypatch.setattr("sys.argv", ["generate.py", *served, *words, "model.concurrency=1"])
        generate_command()
    return [json.loads(line)["answer"] for line in Path("out/answers.jsonl").read_text().splitlines()]


def test_empty_answers_are_counted_with_their_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ends = [("It is hot.", "stop"), ("<think>So", "length"), ("", "content_filter"), (" ", "stop")]
    answers = generated(monkeypatch, tmp_path, ends)
    assert answers.count("") == 6
    said = "6 of 8 answers are empty (2 of them refused by a content filter, 2 cut at sampling.max_tokens=64)"
    assert said in caplog.text
    assert "2 of 8 prompts were refused by a content filter" in caplog.text
    assert "count as invalid" not in caplog.text, "an answer in free text is not"


def test_nothing_is_said_if_every_answer_has_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert "" not in generated(monkeypatch, tmp_path, [("It is hot.", "stop"), ("No", "length")])
    assert "answers are empty" not in caplog.text
