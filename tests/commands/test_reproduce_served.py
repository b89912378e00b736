"""Grids of papers with a model behind a stub endpoint: letters, ranked words, refusals."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaluate import main as evaluate_command
from figlang.evaluation.served_filling import one_word
from tests.commands.served import metrics, refused, run
from tests.needing import needs
from tests.reproducing import miqa_table3 as table3_command
from tests.reproducing import munch_generate as munch_generate_command
from tests.reproducing import munch_judge as munch_judge_command
from tests.stub_server import Stub, serving

needs("openai", "needs the extra `served`")


def test_miqa_by_statement_and_the_paper_table(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Stub()) as stub:
        run(evaluate_command, monkeypatch, stub, "data=miqa_sample", "data.limit=8", "prompt=miqa_qa")
        assert metrics(here)["metrics"]["accuracy"]["n"] == 8
        run(
            table3_command,
            monkeypatch,
            stub,
            "data=miqa_sample",
            "data.limit=4",
            "shots=[0,1]",
            "output=table",
        )
    assert (here / "table" / "table3.md").is_file()


MUNCH = ["data=munch_generation", "data.root=package:figlang/samples", "data.limit=6", "prompts=[PTGS54]"]


def rankings(here: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in (here / "out" / "rankings" / "PTGS54.jsonl").read_text().splitlines()
    ]


def test_munch_ranks_are_of_the_likeliest_tokens_that_are_shown(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    likeliest = {"hello": -1.0, "ann": -2.0, "re": -3.0, "present": -3.0, "x": -4.0, " disclose": -5.0}
    rest = {"ann": 'ounce" for', "re": 'veal"', "present": "-day", "hello": '"'}

    def following(text: str) -> str:
        return next((more for token, more in rest.items() if text.endswith(f'"{token}')), "")

    with serving(Stub(likeliest=lambda text: likeliest, following=following)) as stub:
        run(munch_generate_command, monkeypatch, stub, *MUNCH)
        assert {body["logprobs"] for body in stub.seen if "logprobs" in body} == {5}
        asked = [
            body["prompt"].rpartition('"')[2]
            for body in stub.seen
            if "chancellor will *unveil" in body["prompt"]
        ]
        assert sorted(asked) == ["", "ann", "hello", "present", "re"]
    row = rankings(here)[0]
    assert row["answers"] == ["announce", "reveal", "present", "disclose"]
    # Of two equals none is before the other; what is beyond the fifth is not known.
    assert row["ranks"] == [2, 4, None, None]
    assert (row["written"], row["top"]) == ("hello", ["hello", "ann", "re", "present", "x"])
    assert "max_rank=5)" in metrics(here)["signature"]
    assert "recall@10" not in metrics(here)["over_prompts"]


def test_munch_words_are_inserted_as_the_papers_gpt_did(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def following(text: str) -> str:
        return "nounce* the plan" if "*an|*" in text else "*"

    likeliest = {"re": -1.0, "an": -2.0}
    stub = Stub(
        inserts=True, likeliest=lambda text: likeliest if "|" in text else {"x": -1.0}, following=following
    )
    with serving(stub):
        run(munch_generate_command, monkeypatch, stub, *MUNCH, "form=insert")
        bodies = [
            body for body in stub.seen if "chancellor will *unveil" in body["prompt"] and "suffix" in body
        ]
    assert {body["prompt"].rpartition("*")[2] for body in bodies} == {"", "re", "an"}
    assert all(body["prompt"].rpartition("\n")[2].startswith("Paraphrase: ") for body in bodies)
    (suffix,) = {body["suffix"] for body in bodies}
    assert suffix.startswith("*")
    row = rankings(here)[0]
    assert row["answers"][0] == "announce"
    assert row["ranks"][0] == 2
    assert "|form:insert|" in metrics(here)["signature"]


def test_a_server_that_does_not_read_what_stands_after_a_blank_is_refused(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Stub()) as stub, pytest.raises(SystemExit):
        run(munch_generate_command, monkeypatch, stub, *MUNCH, "form=insert")
    assert "ignores the text after a blank (the field `suffix`); use form=quote" in refused(capsys)


def test_a_chat_writes_the_word_of_a_blank(
    here: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def reply(message: str) -> str:
        return "<think>Hm.</think>**Announce.**" if "*unveil*" in message else "It should be another word."

    with serving(Stub(completes=False, reply=reply)) as stub:
        run(munch_generate_command, monkeypatch, stub, *MUNCH)
        assert stub.seen[0]["messages"][0]["content"].endswith(
            "\n[blank]: which word should it be? Answer with one word only."
        )
    assert [row["ranks"][0] for row in rankings(here)] == [1, None, None, None, None, None]
    assert "5 of 6 replies are not a single word" in caplog.text
    assert "|scoring:reply(" in metrics(here)["signature"]


JUDGED = ["data=munch_sample", "data.limit=8", "prompts=[CTWT52,GASW94]"]


def test_munch_is_judged_by_log_probabilities_of_letters(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Stub()) as stub:
        run(munch_judge_command, monkeypatch, stub, *JUDGED)
        asked = {body["prompt"] for body in stub.seen}
    # Two prompts, four triples with and without the sentence, four letters.
    assert len(asked) == 2 * 4 * 2 * 4
    rows = [(here / "out" / kind / "GASW94.jsonl").read_text() for kind in ("predictions", "blind")]
    content = metrics(here)
    assert "|scoring:letters(with space)|norm:sum|prompt:CTWT52+GASW94(chat=none)|" in content["signature"]
    # Each cell is what evaluate.py makes of its prompt.
    with serving(Stub()) as stub:
        alone = [
            "data=munch_sample",
            "data.question=sentence",
            "data.limit=4",
            "prompt=munch",
            "prompt.question=GASW94",
        ]
        run(evaluate_command, monkeypatch, stub, *alone, "output=alone")
    assert rows == [(here / "alone" / f"predictions{kind}.jsonl").read_text() for kind in ("", "_blind")]
    with serving(Stub()) as stub:
        run(munch_judge_command, monkeypatch, stub, *JUDGED, "blind=false", "output=once")
        assert len({body["prompt"] for body in stub.seen}) == 2 * 4 * 4
    assert "gains" not in json.loads((here / "once" / "metrics.json").read_text())


def test_munch_is_judged_by_letters_of_a_chat(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub = Stub(completes=False, reply=lambda message: "C" if "Choose" in message else "The answer is B.")
    with serving(stub):
        run(munch_judge_command, monkeypatch, stub, *JUDGED, "scoring=letter")
        asked = len(stub.requests)
        run(munch_judge_command, monkeypatch, stub, *JUDGED, "scoring=letter", "ddof=0", "overwrite=true")
        assert len(stub.requests) == asked
    content = metrics(here)
    for name, letter in (("CTWT52", "C"), ("GASW94", "B")):
        assert sum(counts[letter] for counts in content["prompts"][name]["confusion"].values()) == 4
        rows = [
            json.loads(line) for line in (here / "out" / "replies" / f"{name}.jsonl").read_text().splitlines()
        ]
        assert [row["letter"] for row in rows] == [letter] * 4
    assert "|scoring:letter(chat,greedy,orders=as read,max_tokens=512)|" in content["signature"]
    assert content["took"]["usage"]["requests"] == 16, "four sentences, by two prompts, seen and hidden"


@pytest.mark.parametrize(
    ("reply", "word"),
    [("Rose", "Rose"), ('"head-office".', "head-office"), ("a word", ""), ("", ""), ("<think>Rose", "")],
)
def test_one_word_is_all_of_a_reply(reply: str, word: str) -> None:
    assert one_word(reply) == word


JUDGING, RANKING = (munch_judge_command, JUDGED), (munch_generate_command, MUNCH)


@pytest.mark.parametrize(
    ("asking", "able", "arguments", "message"),
    [
        (JUDGING, {"completes": False}, [], "this endpoint can do scoring=letter (figlang evaluate)"),
        (JUDGING, {}, ["prompt.reply=greedy"], "can judge by log-probabilities (prompt.reply=letter)"),
        (JUDGING, {}, ["one_by_one=2"], "one_by_one= measures the time that a local network saves"),
        (JUDGING, {}, ["scoring=letter", "prompt.k=2"], "prompt.k changes no judgement"),
        (RANKING, {}, ["rank=word"], "rank=word needs a local network"),
        (RANKING, {}, ["candidates=words.txt"], "candidates= changes nothing under rank=first_token"),
        (
            RANKING,
            {"ranks": False},
            ["max_rank=5"],
            "shows no likeliest tokens (logprobs); leave form=, rank= and max_rank= out",
        ),
        (RANKING, {"ranks": False, "chats": False}, [], "figlang generate works with this endpoint"),
    ],
)
def test_judgements_and_ranks_that_cannot_be_had_are_refused(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    asking: tuple[Any, list[str]],
    able: dict[str, Any],
    arguments: list[str],
    message: str,
) -> None:
    command, words = asking
    with serving(Stub(**able)) as stub:
        with pytest.raises(SystemExit):
            run(command, monkeypatch, stub, *words, *arguments)
        assert not stub.seen
    assert message in refused(capsys)
