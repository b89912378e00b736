"""The script of a rater's page, run by node: nothing that a rater gave or wrote is lost."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from figlang.rating.serving import app

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs node to run the page's script")
DRIVER = Path(__file__).parents[2] / "data" / "serving_page_driver.js"


def played(ask: str, scenario: str) -> Any:
    """What a scenario returns. It is the body of a function with `tools` of the driver."""
    item = {"text": "t", "mark": None, "answer": "", "options": ["a", "b"]}
    work = {"role": "rater", "name": "ann", "study": "s", "token": "x", "ask": ask, "codes": []}
    work |= {"items": [item] * 3, "instructions": "", "finished": ""}
    script = (app.HERE / "rater" / "page.js").read_text(encoding="utf-8")
    run = subprocess.run(
        ["node", "-e", DRIVER.read_text(encoding="utf-8")],
        input=json.dumps({"script": script, "work": work, "scenario": scenario}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_two_windows_keep_the_answer_of_each_until_the_server_is_back() -> None:
    """Both wait for a server that is down. Both are closed before it is back."""
    found = played(
        "choice",
        """const one = tools.opened(), other = tools.opened();
        await tools.settle();
        await other.press("ArrowRight");
        tools.setDown(true);
        await one.press("1");
        await other.press("2");
        const kept = Object.values(tools.storage).map(text => Object.keys(JSON.parse(text)).length);
        tools.setDown(false);
        tools.opened();
        await tools.settle();
        const answers = tools.answers.map(one => [one.place, one.value]);
        return {kept, answers, left: Object.keys(tools.storage)};""",
    )
    assert found == {"kept": [2], "answers": [[0, "0"], [1, "1"]], "left": []}


def test_a_text_that_is_not_saved_stays_when_the_rater_looks_elsewhere() -> None:
    found = played(
        "paraphrase",
        """const one = tools.opened();
        await tools.settle();
        await one.type("half a thought");
        await one.press("ArrowRight");
        const elsewhere = [one.at("words").value, one.at("message").textContent];
        const later = tools.opened();
        await tools.settle();
        const back = [later.at("words").value, later.at("message").textContent];
        await later.enter();
        const answers = tools.answers.map(one => [one.place, one.value]);
        return {elsewhere, back, answers, left: Object.keys(tools.storage)};""",
    )
    unsaved = "This text is not saved yet. Press Enter to save it."
    assert found == {
        "elsewhere": ["", ""],
        "back": ["half a thought", unsaved],
        "answers": [[0, "half a thought"]],
        "left": [],
    }


def test_doubt_about_a_saved_answer_is_saved_at_once() -> None:
    found = played(
        "choice",
        """const one = tools.opened();
        await tools.settle();
        await one.press("2");
        await one.press("ArrowLeft");
        await one.press("n");
        const where = one.at("where").textContent;
        await one.press("ArrowRight");
        await one.press("n");
        return {where, answers: tools.answers.map(one => [one.place, one.value, one.confident])};""",
    )
    assert found == {"where": "Item 1 of 3", "answers": [[0, "1", True], [0, "1", False]]}
