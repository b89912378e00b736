"""MUNCH by command, with tiny random networks: all judgement prompts, one of them, and the choice between
paraphrases."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluate import main as evaluate_command
from figlang.config import PromptConfig, ScoringConfig
from figlang.errors import FiglangError
from figlang.evaluation.generation import Writer
from figlang.evaluation.letters import LetterChooser, check, letter_of
from figlang.runs.cells import MADE_BY
from figlang.runs.predictions import read_predictions
from figlang.statistics import metrics
from figlang.tasks.munch.prompts import PROMPTS
from tests.calls import mistake
from tests.causal_models import network, tokenizer
from tests.reproducing import Run
from tests.reproducing import munch_judge as judge_command

TEMPLATE = "{% for turn in messages %}<{{ turn.role }}>{{ turn.content }}\n{% endfor %}"


def test_all_prompts(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = run(judge_command, "one_by_one=1")
    assert list(content["prompts"]) == list(PROMPTS)
    assert {one["n"] for one in content["conditions"]} == {3}
    assert len(content["conditions"]) == 6
    for name, found in content["prompts"].items():
        rows = read_predictions(tmp_path / "out" / "predictions" / f"{name}.jsonl")
        assert found["accuracy"]["value"] == sum(bool(row.correct) for row in rows) / 3
    took = content["took"]
    assert took["one_by_one"]["questions"] == 18
    assert took["one_by_one"]["largest_difference"] < 1e-4
    assert took["ratio"] > 1
    assert "order=seeded,seed=0" in content["signature"]
    assert "published_file" in content
    shown = capsys.readouterr().out
    for title in ("Table 2", "Table 9", "Table 10", "Table 11", "Table 12"):
        assert title in shown
        assert title in (tmp_path / "out" / "tables.md").read_text()


def test_ctrl_c_is_one_word(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LetterChooser, "choose", stop)
    with pytest.raises(SystemExit) as stopped:
        run(judge_command)
    assert stopped.value.code == 130
    assert capsys.readouterr().err.splitlines()[-1] == "interrupted"


def test_a_cell_is_what_its_prompt_gives_alone(run: Run, tmp_path: Path) -> None:
    run(judge_command, "prompts=[WOTG33]")
    cell = read_predictions(tmp_path / "out" / "predictions" / "WOTG33.jsonl")
    words = ["data=munch_word", "data.limit=3", "prompt=munch", "prompt.question=WOTG33", "overwrite=true"]
    content = run(evaluate_command, *words)
    alone = read_predictions(tmp_path / "out" / "predictions.jsonl")
    assert [row.id for row in cell] == [row.id for row in alone]
    for one, other in zip(cell, alone, strict=True):
        assert one.scores == pytest.approx(other.scores, abs=1e-4)
    assert content["metrics"] == metrics.measure(alone)
    # Novelty is a number, not a class; groups are no pairs.
    assert set(content["metrics"]["accuracy_by"]) == {"form", "genre", "pos"}
    assert "pair_accuracy" not in content["metrics"]
    assert content["facts"]["question"] == "word/m-word/3"
    assert "prompt:WOTG33(chat=none)" in content["signature"]


@pytest.mark.parametrize("chat", ["prefill", "user"])
def test_a_conversation(run: Run, folder: Path, tmp_path: Path, chat: str) -> None:
    chatty = tmp_path / "chatty"
    network("llama", max_position_embeddings=2048).save_pretrained(chatty)
    built = tokenizer()
    built.chat_template = TEMPLATE
    built.save_pretrained(chatty)
    content = run(
        judge_command,
        "prompts=[CTWT52]",
        f"prompt.chat={chat}",
        f"model.name_or_path={chatty}",
        "data.limit=4",
    )
    assert f"chat={chat}" in content["signature"]
    # The template brings the token that its model expects.
    assert content["facts"]["bos"] == "none"


def test_what_the_model_writes_is_parsed(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = iter([" B", "Both", "(A)", "D", "(C)", "Neither"])  # the last three without the sentence
    monkeypatch.setattr(
        Writer, "write", lambda self, prompts, sampling, **_: [[next(texts)] for _ in prompts]
    )
    content = run(judge_command, "prompts=[CTWT52]", "prompt.reply=greedy")
    rows = read_predictions(tmp_path / "out" / "predictions" / "CTWT52.jsonl")
    assert [row.choice for row in rows] == [1, None, 0]
    blind = read_predictions(tmp_path / "out" / "blind" / "CTWT52.jsonl")
    assert [row.choice for row in blind] == [3, 2, None]
    assert content["gains"][""]["CTWT52"]["blind"]["n"] == 3
    assert content["took"]["ratio"] is None
    assert content["facts"]["scoring"] == "greedy(parsed)"


def test_a_folder_holds_one_result(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finished = run(judge_command, "prompts=[CTWT52]", "ddof=0")
    with pytest.raises(SystemExit):
        run(judge_command, "prompts=[CTWT52]", "data.seed=1")
    assert (
        "out holds a finished result with other settings (data.seed: 0 → 1, ddof: 0 → 1); choose"
        in capsys.readouterr().err
    )
    parts = tmp_path / "pos.tsv"  # changes no score, and so no signature
    parts.write_text("idx\ttarget\tupos\n")
    with pytest.raises(SystemExit):
        run(judge_command, "prompts=[CTWT52]", f"data.pos={parts}")
    assert "out holds a finished result with other settings" in capsys.readouterr().err
    assert json.loads((tmp_path / "out" / "metrics.json").read_text()) == finished
    assert run(judge_command, "prompts=[CTWT52]", "overwrite=true")["prompts"] == finished["prompts"]


def test_an_interrupted_run_goes_on_with_the_prompts_that_are_left(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[str] = []
    choose = LetterChooser.choose

    def until_killed(self: LetterChooser, items: Any, name: str, *given: Any) -> Any:
        asked.append(name)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return choose(self, items, name, *given)

    monkeypatch.setattr(LetterChooser, "choose", until_killed)
    three = "prompts=[CTWT52,SWTC20,GASW94]"
    with pytest.raises(SystemExit):
        run(judge_command, three)
    assert not (tmp_path / "out" / "metrics.json").exists()
    before = (tmp_path / "out" / "predictions" / "CTWT52.jsonl").stat().st_mtime_ns
    caplog.set_level("INFO")
    content = run(judge_command, three)
    assert asked == ["CTWT52", "SWTC20", "SWTC20", "GASW94"]
    assert "CTWT52 there already, of an earlier run" in caplog.text
    assert content["took"]["kept"] == ["CTWT52"]
    assert "CTWT52 had been made by an earlier run" in (tmp_path / "out" / "tables.md").read_text()
    assert (tmp_path / "out" / "predictions" / "CTWT52.jsonl").stat().st_mtime_ns == before


def test_a_finished_run_is_not_made_again(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = "prompts=[CTWT52,SWTC20]"
    finished = run(judge_command, two)
    (tmp_path / "out" / "tables.md").unlink()
    with monkeypatch.context() as without:
        without.delattr(LetterChooser, "choose")
        assert run(judge_command, two) == finished
    assert (tmp_path / "out" / "tables.md").is_file()
    (tmp_path / "out" / "predictions" / "SWTC20.jsonl").unlink()
    again = run(judge_command, two)
    assert again["prompts"] == finished["prompts"]
    assert again["took"]["kept"] == ["CTWT52"]


def test_what_other_settings_left_is_made_again(run: Run, tmp_path: Path) -> None:
    first = run(judge_command, "prompts=[CTWT52]", "data.limit=4")
    (tmp_path / "out" / "metrics.json").unlink()
    (tmp_path / "out" / MADE_BY).write_text("of another signature")
    content = run(judge_command, "prompts=[CTWT52]")
    assert (first["prompts"]["CTWT52"]["accuracy"]["n"], content["prompts"]["CTWT52"]["accuracy"]["n"]) == (
        2,
        3,
    )
    assert content["took"]["kept"] == []


def test_a_chat_model_here_is_asked_for_a_letter(run: Run, tmp_path: Path) -> None:
    chatty = tmp_path / "chatty"
    network("llama", max_position_embeddings=2048).save_pretrained(chatty)
    built = tokenizer()
    built.chat_template = TEMPLATE
    built.save_pretrained(chatty)
    settings = ["scoring=letter", "scoring.max_tokens=4", f"model.name_or_path={chatty}", "data.limit=4"]
    content = run(judge_command, "prompts=[CTWT52,GASW94]", *settings)
    assert "|scoring:letter(chat,greedy,orders=as read,max_tokens=4)|" in content["signature"]
    assert "|prompt:CTWT52+GASW94(reply=letter," in content["signature"]
    rows = [
        json.loads(line) for line in (tmp_path / "out" / "replies" / "GASW94.jsonl").read_text().splitlines()
    ]
    assert len(rows) == 2
    assert rows[0]["message"].endswith("Answer with one letter only: A, B, C or D.")


def test_a_letter_is_written_greedily_by_a_network(run: Run, tmp_path: Path) -> None:
    run(judge_command, "prompts=[CTWT52]", "prompt.reply=greedy", "data.limit=2")
    (row,) = [
        json.loads(line) for line in (tmp_path / "out" / "replies" / "CTWT52.jsonl").read_text().splitlines()
    ]
    # A space and a letter are two tokens of this vocabulary.
    assert len(tokenizer()(row["text"])["input_ids"]) <= 2


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        (" A", 0),
        ("B.", 1),
        (" (C)", 2),
        ("D) Neither", 3),
        ("All", None),
        ("", None),
        ("a", None),
        ("E", None),
        ("Option A", None),
    ],
)
def test_a_letter_is_the_first_word_of_a_text(text: str, letter: int | None) -> None:
    assert letter_of(text) == letter


@pytest.mark.parametrize(
    ("prompt", "scoring", "message"),
    [
        (PromptConfig("munch", reply="letter", k=3), None, "prompt.k changes no judgement"),
        (
            PromptConfig("munch", reply="letter", template="{metaphor} {answer}"),
            None,
            "prompt.template changes no judgement",
        ),
        (PromptConfig("munch"), None, "judged by letters, not by prompt.reply=statement"),
        (
            PromptConfig("munch", reply="letter"),
            ScoringConfig("pmi", norm="sum", minus_alone=True),
            "scoring=pmi compares longer",
        ),
        (PromptConfig("munch", reply="letter"), ScoringConfig(), "scoring=clean compares longer answers"),
    ],
)
def test_settings_without_a_use_are_refused(
    prompt: PromptConfig, scoring: ScoringConfig | None, message: str
) -> None:
    with pytest.raises(FiglangError, match=message):
        check(prompt, scoring)


MISTAKES: list[tuple[Callable[[], None], list[str], str]] = [
    (judge_command, ["prompts=[CTWT5]"], "'CTWT5' is not a judgement prompt of MUNCH; choose one of CTWT52"),
    (
        judge_command,
        ["data=munch_word", "prompts=[CTCP10]"],
        "asks about sentences, but the items have another form; use data=munch",
    ),
    (judge_command, ["data=miqa_sample"], "these are not MUNCH's judgements; use data=munch"),
    (judge_command, ["data=munch_paraphrase"], "these are not MUNCH's judgements"),
    (judge_command, ["prompt.chat=user"], "has no chat template; use prompt.chat=none"),
    (judge_command, ["prompt.reply=greedy", "one_by_one=2"], "one_by_one= measures"),
    (
        judge_command,
        ["scoring=letter", "prompt.chat=user"],
        "scoring=letter asks in a chat and reads its replies",
    ),
    (judge_command, ["scoring=letter"], "has no chat format"),
    (judge_command, ["ddof=2"], "ddof=2 is not a choice; choose one of 0, 1"),
    (judge_command, ["class_test=t"], "class_test=t is not a choice"),
    (judge_command, ["prompt.k=2"], "prompt.k changes no judgement"),
    (evaluate_command, ["data=munch_word"], "prompt=none asks no question; MUNCH needs prompt=munch"),
    (
        evaluate_command,
        ["data=munch_word", "prompt.reply=letter"],
        "prompt=none asks no question; MUNCH needs prompt=munch",
    ),
    (
        evaluate_command,
        ["data=munch_sentence", "prompt=munch"],
        "prompt CTWT52 asks about words of MUNCH; use data=munch_word",
    ),
    (evaluate_command, ["data=munch_generation"], "asks for words and has no options to choose from"),
    (evaluate_command, ["data=munch_paraphrase", "prompt=munch"], "asks questions, but the items of"),
    (
        evaluate_command,
        ["data=miqa_sample", "prompt=miqa_qa", "prompt.reply=greedy"],
        "prompt.reply=greedy is for published prompts with letters",
    ),
]


@pytest.mark.parametrize(("command", "overrides", "message"), MISTAKES)
def test_a_mistake_is_one_line(
    run: Run,
    command: Callable[[], None],
    overrides: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert message in mistake(capsys, run, command, *overrides)
