"""Dry runs of all commands that ask an endpoint: nothing is sent, and no assumed answer becomes a result."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

from figlang.config import ModelConfig, SamplingConfig
from figlang.errors import FiglangError
from figlang.models.served.endpoint import connect
from tests.needing import needs
from tests.stub_server import MODEL, Stub, serving

needs("openai", "needs the extra `served`")
TEXTS = "model,item,prompt,answer\nm,q1,His word is steel.,It holds.\nm,q2,Her word is sand.,It fails.\n"
JUDGED = ["judge", "folder=ratings"]
# A verb with its words, whether the endpoint has a chat alone, and how many requests are planned.
COMMANDS: dict[str, tuple[list[str], bool, int]] = {
    "generate by chat": (["generate", "data=miqa_sample", "output=out"], True, 43),
    "generate": (["generate", "data=miqa_sample", "output=out"], False, 43),
    "judge": (JUDGED, True, 4),
    "judge by words": ([*JUDGED, "ask=words"], False, 16),
    "sensitivity": (
        ["sensitivity", "data=miqa_sample", "data.limit=3", "protocol=letter", "output=out"],
        True,
        15,
    ),
    "reproduce": (["reproduce", "table=miqa_table3", "data=miqa_sample", "output=out"], True, 0),
}


def run(monkeypatch: pytest.MonkeyPatch, verb: str, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["figlang", "paths.cache=cache", *words])
    try:
        import_module(f"figlang.commands.{verb}").main()
    except SystemExit as error:
        return int(error.code or 0)
    return 0


@pytest.mark.parametrize("name", COMMANDS)
def test_a_dry_run_keeps_no_answer(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    name: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (verb, *words), chats, requests = COMMANDS[name]
    if verb == "judge":
        (tmp_path / "t.csv").write_text(TEXTS)
        assert run(monkeypatch, "rate", "folder=ratings", "texts=[t.csv]", "scale=figqa") == 0
    with serving(Stub(completes=not chats)) as stub:
        served = stub.words
        # An earlier command has found out what the endpoint can do.
        assert run(monkeypatch, "generate", *served, "data=miqa_sample", "data.limit=1", "output=first") == 0
        sent, before = len(stub.requests), set(tmp_path.rglob("*"))
        code = run(monkeypatch, verb, *served, *words, "model.dry_run=true")
        assert len(stub.requests) == sent
    said = caplog.text + capsys.readouterr().err
    assert "nothing was sent" in said
    made = {path.name for path in set(tmp_path.rglob("*")) - before}
    if requests:
        assert code == 0
        assert f"dry run: {requests} requests" in said
        assert not made
    else:  # a table asks in many rounds, and ends at the first as if it were stopped
        assert "later ones are not counted" in said
        assert not {name for name in made if name.endswith((".json", ".jsonl", ".csv"))}


def test_without_a_rehearsal_no_answer_is_assumed(tmp_path: Path) -> None:
    with serving(Stub(completes=False)) as stub:
        model = ModelConfig(
            family="served", name=MODEL, name_or_path="", endpoint=stub.url, dry_run=True, retries=0
        )
        endpoint = connect(model, str(tmp_path), "reply")
        with pytest.raises(FiglangError, match=r"dry run: 1 request .* nothing was sent"):
            endpoint.chat(["Hm?"], SamplingConfig())
        assert stub.requests == []
