"""The items of a report are those that a chat model was asked about, in each order of their options."""

import json
from pathlib import Path

import pytest

from evaluate import main as evaluate_command
from figlang.commands.report import main as report_command
from figlang.config import PromptConfig
from figlang.runs.orders import as_asked
from figlang.tasks import lettered
from figlang.types import Item
from tests.stub_server import Stub, serving

ITEMS = tuple(
    Item(id=f"dev-{number}", group="dev-1", context=f"context {number}", options=("one", "two"), gold=gold)
    for number, gold in ((1, 0), (2, 1), (3, None))
)


def test_items_are_those_of_the_questions() -> None:
    none: dict[str, tuple[str, ...]] = {item.id: () for item in ITEMS}
    questions = lettered.about_pairs(ITEMS, PromptConfig(question="meaning"), "both", none)
    asked = [question.item for question in questions]
    found = as_asked(ITEMS, {item.id for item in asked})
    assert [(one.id, one.context, one.options, one.gold) for one in found] == [
        (one.id, one.context, one.options, one.gold) for one in asked
    ]


@pytest.mark.parametrize("ids", [{"dev-1"}, {"dev-1/0"}, {"dev-1/3"}, {"dev-1/x"}, {"dev-9/1"}, set()])
def test_other_ids_name_no_order(ids: set[str]) -> None:
    assert not {item.id for item in as_asked(ITEMS, ids)} & (ids - {"dev-1"})


def test_a_report_shows_what_was_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("openai", reason="needs the extra `served`")
    monkeypatch.chdir(tmp_path)
    with serving(Stub(completes=False, reply=lambda _: "A")) as stub:
        served = [*stub.words, "paths.cache=cache"]
        words = ["trainer=cpu", "trainer.progress=false", "trainer.threads=1", "blind=false", "output=out"]
        monkeypatch.setattr(
            "sys.argv",
            ["evaluate.py", *served, *words, "data=figqa_sample", "data.limit=4", "protocol=letter"],
        )
        evaluate_command()
    monkeypatch.setattr("sys.argv", ["report.py", "out", "output=page", "analysis=off"])
    report_command()
    assert "does not show the texts" not in caplog.text
    page = Path("page/report.html").read_text(encoding="utf-8")
    messages = [json.loads(line)["message"] for line in Path("out/replies.jsonl").read_text().splitlines()]
    assert len(messages) == 8
    assert all(message.split('"')[1] in page for message in messages)
