"""Chat protocols by command against a server that answers anything: no reply is a traceback, or a wrong
letter."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from figlang.commands.evaluate import main as evaluate_command
from tests.needing import needs
from tests.sampled import sampled
from tests.stub_server import Stub, serving

needs("openai", "needs the extra `served`")

QUIET = ("trainer=cpu", "trainer.progress=false", "trainer.threads=1", "data=figqa_sample", "blind=false")
PROTOCOLS = ("letter", "cot", "two_step", "score")
# Replies that name no option and are no rating. No letter inside a word is one.
SAID = (
    "",
    " \n\t ",
    "I would rather not say.",
    "\x00\x1b[31m\x07",
    "\ud83d",
    "🦊" * 1000,
    "word " * 200_000,
    "Answer:",
    "Answer: \nAnswer: \n",
    "(",
    "<think>" * 500,
    "{{answer}} {0} %s ${x}",
    "\\boxed{" * 500,
    "Apple and Banana",
    "Answer: ZZ",
    '"',
    "***",
)


def message(content: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}]}


class Raw(str):
    """A body that is sent as these bytes."""

    content: bytes = b""

    def encode(self, *_: Any, **__: Any) -> bytes:
        return self.content


def raw(content: bytes) -> Raw:
    body = Raw()
    body.content = content
    return body


# Bodies that are no replies. The command ends in one line, and nothing of them is stored.
BODIES: dict[str, str] = {
    "nothing": "",
    "no JSON": "B",
    "a page": "<!DOCTYPE html><html><body>Welcome</body></html>",
    "no UTF-8": raw(b'{"choices": [{"message": {"content": "\xff\xfe B"}}]}'),
    "binary": raw(bytes(range(256)) * 40),
    "cut": json.dumps(message("B"))[:-9],
    "null": "null",
    "a number": "7",
    "a list": "[]",
    "a list of answers": json.dumps([message("B")]),
    "no choices": "{}",
    "choices null": '{"choices": null}',
    "choices a word": '{"choices": "B"}',
    "choices an object": '{"choices": {"0": "B"}}',
    "choices of words": '{"choices": ["B"]}',
    "a choice null": '{"choices": [null]}',
    "no message": '{"choices": [{}]}',
    "a message a word": '{"choices": [{"message": "B"}]}',
    "a message a list": '{"choices": [{"message": ["B"]}]}',
    "content a number": json.dumps(message(7)),
    "content an object": json.dumps(message({"text": "B"})),
    "deep": '{"choices": ' + "[" * 100_000,
    "deep inside": '{"choices": [{"message": {"content": ' + "[" * 5000 + "]" * 5000 + "}}]}",
    "a number of 5000 digits": '{"choices": [{"message": {"content": ' + "9" * 5000 + "}}]}",
}


def run(home: Path, stub: Stub, *words: str) -> int:
    served = (*stub.words, "model.retries=0")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setattr(
            sys, "argv", ["evaluate.py", *served, *QUIET, "paths.cache=cache", "output=out", *words]
        )
        try:
            evaluate_command()
        except SystemExit as error:
            return int(error.code or 0)
    return 0


def after_the_probe(answer: Callable[[dict[str, Any]], tuple[int, dict[str, str], str] | None]) -> Any:
    probes = ("Reply with the letter A.", "as hot as an oven")
    return lambda stub, body: None if any(text in str(body) for text in probes) else answer(body)


def rows(home: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (home / "out" / name).read_text().splitlines()]


@pytest.mark.parametrize("protocol", sampled(PROTOCOLS, "letter", "cot"))
def test_a_reply_without_an_option_is_never_a_choice(tmp_path: Path, protocol: str) -> None:
    said = iter(SAID * 20)
    with serving(Stub(completes=False)) as stub:
        stub.fault = after_the_probe(lambda body: (200, {}, json.dumps(message(next(said)))))
        count = len(SAID) + 1
        assert run(tmp_path, stub, f"protocol={protocol}", f"data.limit={count}", "model.concurrency=1") == 0
    found = rows(tmp_path, "predictions.jsonl")
    assert len(found) >= len(SAID)
    assert {row["choice"] for row in found} == {None}
    assert {row["letter"] for row in rows(tmp_path, "replies.jsonl")} == {None}
    content = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert content["metrics"]["accuracy"]["value"] == 0
    assert content["replies"]["invalid"]["value"] == 1


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.faults if place % 8 else ()) for place, name in enumerate(BODIES)],
)
def test_a_body_that_is_no_reply_ends_in_one_line_and_is_asked_for_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    with serving(Stub(completes=False)) as stub:
        stub.fault = after_the_probe(lambda body: (200, {}, BODIES[name]))
        assert run(tmp_path, stub, "protocol=letter", "data.limit=2", "model.concurrency=1") == 2
        said = capsys.readouterr().err
        errors = [line for line in said.splitlines() if line.startswith("error: ")]
        assert "Traceback" not in said
        assert len(errors) == 1
        assert 20 < len(errors[0]) < 1200, errors[0]
        assert "(0 of " in errors[0], errors[0]
        assert not (tmp_path / "out" / "metrics.json").exists()
