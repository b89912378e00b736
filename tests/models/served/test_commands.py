"""Commands with a model behind a stub endpoint: likelihoods, letters, free text, refusals."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaluate import main as evaluate_command
from figlang.commands.generate import main as generate_command
from figlang.config import ModelConfig
from figlang.evaluation.processes import Processes
from figlang.evaluation.served_filling import one_word
from tests.reproducing import miqa_table3 as table3_command
from tests.reproducing import munch_generate as munch_generate_command
from tests.reproducing import munch_judge as munch_judge_command
from tests.stub_server import MODEL, Stub, serving
from train import main as train_command

pytest.importorskip("openai", reason="needs the extra `served`")


QUIET = ["trainer=cpu", "trainer.progress=false", "trainer.threads=1"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    return tmp_path


def run(command: Any, monkeypatch: pytest.MonkeyPatch, stub: Stub, *arguments: str) -> None:
    served = [
        "model=served",
        f"model.endpoint={stub.url}",
        f"model.name={MODEL}",
        "model.retries=0",
        "paths.cache=cache",
    ]
    monkeypatch.setattr("sys.argv", ["evaluate.py", *served, *QUIET, "output=out", *arguments])
    command()


def metrics(here: Path, folder: str = "out") -> dict[str, Any]:
    content: dict[str, Any] = json.loads((here / folder / "metrics.json").read_text())
    return content


def refused(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("scoring", ["liu2022", "clean", "answer", "gpt3_notebook"])
def test_figqa_by_likelihood_both_ways_and_again_without_a_request(
    here: Path, monkeypatch: pytest.MonkeyPatch, scoring: str
) -> None:
    with serving(Stub()) as stub:
        arguments = ("data=figqa_sample", "data.limit=6", f"scoring={scoring}")
        run(evaluate_command, monkeypatch, stub, *arguments)
        first, asked = metrics(here), len(stub.requests)
        run(evaluate_command, monkeypatch, stub, *arguments)
        assert len(stub.requests) == asked
    assert metrics(here) == first
    assert first["metrics"]["accuracy"]["n"] == first["backward"]["accuracy"]["n"] == 6
    assert f"|endpoint:{stub.url}|" in first["signature"]
    assert f"|scoring:{scoring}(span=" in first["signature"]


def test_pmi_needs_a_token_before_the_answer(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Stub()) as stub:
        with pytest.raises(SystemExit):
            run(evaluate_command, monkeypatch, stub, "data.limit=4", "scoring=pmi")
        assert "scoring=pmi subtracts the score of the answer alone" in refused(capsys)
        run(evaluate_command, monkeypatch, stub, "data.limit=4", "scoring=pmi", "model.bos=<|endoftext|>")
    assert "|bos:<|endoftext|>|" in metrics(here)["signature"]


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


def option(message: str, wanted: str) -> str:
    """The letter that an option has in a message."""
    return next(line[1] for line in message.splitlines() if line.startswith("(") and line[4:] == wanted)


@pytest.mark.parametrize("data", ["figqa_sample", "miqa_sample"])
def test_letters_need_a_chat_only(
    here: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, data: str
) -> None:
    caplog.set_level("INFO")
    stub = Stub(completes=False, reply=lambda message: "<think>The answer is B</think>The answer is A.")
    with serving(stub):
        run(evaluate_command, monkeypatch, stub, f"data={data}", "data.limit=8", "scoring=letter")
        asked = len(stub.requests)
        run(evaluate_command, monkeypatch, stub, f"data={data}", "data.limit=8", "scoring=letter")
        assert len(stub.requests) == asked
    assert f"{stub.url}, model {MODEL}: chat" in caplog.text
    content = metrics(here)
    count = 16 if data == "figqa_sample" else 8
    assert content["metrics"]["items"] == content["replies"]["n"] == count
    assert content["metrics"]["accuracy"]["value"] == 0.5
    assert content["metrics"]["first_option"]["value"] == 1.0
    assert content["replies"]["invalid"]["value"] == 0
    assert "|scoring:letter(chat,greedy,orders=" in content["signature"]
    assert "backward" not in content
    rows = [json.loads(line) for line in (here / "out" / "replies.jsonl").read_text().splitlines()]
    assert [row["letter"] for row in rows] == ["A"] * count
    assert {(row["tokens_in"], row["tokens_out"]) for row in rows} == {(10, 1)}
    sent = len(stub.seen)
    took = {"requests": sent, "counted": sent, "tokens_in": 10 * sent, "tokens_out": sent}
    assert content["usage"] == took, "also after the second command, which asked nothing"


@pytest.mark.parametrize(("blind", "count"), [("true", 12), ("false", 8)])
def test_the_estimate_counts_questions_with_a_hidden_context(
    here: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, blind: str, count: int
) -> None:
    caplog.set_level("INFO")
    with serving(Stub(completes=False)) as stub:
        run(
            evaluate_command,
            monkeypatch,
            stub,
            "data=figqa_sample",
            "data.limit=4",
            "scoring=letter",
            f"blind={blind}",
        )
        assert len(stub.seen) == count, (
            "four items in two orders; without the metaphor the items of a pair are one"
        )
    assert f"{count} requests to {stub.url}" in caplog.text
    assert ("gain" in metrics(here)) == (blind == "true")


def test_invalid_replies_are_counted_reported_and_wrong(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    stub = Stub(
        reply=lambda message: (
            "I would rather not say." if "(A)" in message[:200] and len(message) % 2 else "(A)"
        )
    )
    with serving(stub):
        run(evaluate_command, monkeypatch, stub, "data.limit=12", "scoring=letter", "scoring.orders=drawn")
    content = metrics(here)
    invalid = sum(
        not row["letter"]
        for row in map(json.loads, (here / "out" / "replies.jsonl").read_text().splitlines())
    )
    assert 0 < invalid < 12
    assert content["replies"]["invalid"]["value"] == pytest.approx(invalid / 12)
    assert content["metrics"]["ties"] == invalid
    assert f"{invalid} of 12 replies name no option and count as wrong" in caplog.text
    assert "invalid replies" in capsys.readouterr().out


def test_letters_after_examples_from_the_training_items(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Stub()) as stub:
        run(evaluate_command, monkeypatch, stub, "data.limit=4", "scoring=letter", "prompt=k3")
        messages = [body["messages"][0]["content"] for body in stub.seen]
        assert all(message.count("Which of the following two statements") == 4 for message in messages)
        assert "source=train@" in metrics(here)["signature"]


def test_a_chat_is_asked_in_the_words_it_takes(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for refuses, expected in ((("max_tokens",), "greedy"), (("max_tokens", "temperature"), "sampled")):
        with serving(Stub(refuses=refuses, completes=False)) as stub:
            own = [f"paths.cache=cache-{expected}", f"output={expected}"]
            run(evaluate_command, monkeypatch, stub, "data.limit=2", "scoring=letter", *own)
            assert all(
                not set(refuses) & set(body) and body["max_completion_tokens"] == 512 for body in stub.seen
            )
        assert f"|scoring:letter(chat,{expected}," in metrics(here, expected)["signature"]


@pytest.mark.parametrize(
    ("able", "arguments", "message"),
    [
        (
            {"completes": False},
            ["scoring=clean"],
            "likelihood scoring needs log-probabilities of prompts, but http",
        ),
        ({"completes": False}, ["scoring=clean"], "scoring=letter works with this endpoint"),
        ({"shifted": True}, ["scoring=clean"], "its log-probabilities of prompts are wrong: ' so' has"),
        (
            {},
            ["scoring=clean", "scoring.bos=<s>"],
            "model.bos=<s> is not a token of this model, whose first is '<'",
        ),
        (
            {"echo": False, "chats": False},
            ["scoring=clean"],
            "figlang generate works with this endpoint",
        ),
        ({"chats": False}, ["scoring=letter"], "scoring=letter needs a chat, but http"),
        ({"chats": False}, ["scoring=letter"], "scoring=clean works with this endpoint"),
        ({}, ["scoring=pll"], "scoring=pll needs a network here, but model=served has none"),
        ({}, ["scoring=clean", "scoring.bos=add"], "bos=add needs a tokenizer here"),
        ({}, ["model.name=other", "scoring=clean"], "`other` does not exist"),
        ({}, ["model.name=other", "scoring=clean"], f"its models are {MODEL}"),
        (
            {"fault": lambda stub, body: (200, {}, '{"error": "no room"}')},
            ["scoring=clean"],
            "answers without choices: no room",
        ),
        (
            {"key": "right"},
            ["scoring=clean"],
            "refuses the key in the environment variable OPENAI_API_KEY (401)",
        ),
        (
            {},
            ["scoring=letter", "data=miqa_sample", "prompt=miqa_or"],
            "its options without letters; use prompt=miqa_numbered",
        ),
        ({}, ["model.max_cost=1"], "model.max_cost=1 needs prices"),
        ({}, ["model.key_env=sk-123"], "never a key itself"),
        ({}, ["model.endpoint=http://me:sk-123@localhost/v1"], "keys belong into the variable"),
        ({}, ["model.endpoint=localhost"], "is not an address"),
        ({}, ["model.endpoint=http://sk-1:99999/v1"], "model.endpoint is not an address"),
        ({}, ["model.endpoint='http://[sk-1/v1'"], "model.endpoint is not an address"),
        ({}, ["scoring=clean", "scoring.orders=drawn"], "scoring.orders is for scoring=letter"),
    ],
)
def test_what_cannot_be_is_one_line_that_says_what_can(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    able: dict[str, Any],
    arguments: list[str],
    message: str,
) -> None:
    with serving(Stub(**able)) as stub:
        with pytest.raises(SystemExit) as stopped:
            run(evaluate_command, monkeypatch, stub, "data.limit=2", *arguments)
        assert not stub.seen
    assert stopped.value.code == 2
    said = refused(capsys)
    assert said.startswith("error: ")
    assert message in said
    assert "sk-" not in said


def test_several_processes_are_refused(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("figlang.evaluation.processes.join", lambda: Processes(1, 2))
    with serving(Stub()) as stub:
        with pytest.raises(SystemExit):
            run(evaluate_command, monkeypatch, stub, "data.limit=2", "scoring=clean")
        assert not stub.requests
    assert "model=served is asked by one process" in refused(capsys)


def test_an_endpoint_that_learnt_more_is_probed_again(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Stub(echo=False)) as stub:
        with pytest.raises(SystemExit):
            run(evaluate_command, monkeypatch, stub, "data.limit=2", "scoring=clean")
        stub.echo = True
        run(evaluate_command, monkeypatch, stub, "data.limit=2", "scoring=clean")


def test_the_key_is_sent_and_written_nowhere(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Stub(key="sk-of-the-environment")) as stub:
        run(evaluate_command, monkeypatch, stub, "data.limit=2", "scoring=letter")
        assert {headers["authorization"] for headers in stub.headers} == {"Bearer sk-of-the-environment"}
    files = [path for path in here.rglob("*") if path.is_file()]
    assert any("served" in str(path) for path in files)
    assert all(b"sk-of" not in path.read_bytes() for path in files)
    assert "sk-of" not in "".join(capsys.readouterr())


@pytest.mark.parametrize("able", [{}, {"completes": False}])
def test_free_text_is_continued_or_asked_for(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], able: dict[str, Any]
) -> None:
    with serving(Stub(reply=lambda message: "<think>Hm.</think>No, it could not.", **able)) as stub:
        run(generate_command, monkeypatch, stub, "data=miqa_sample", "data.limit=4")
        asked = len(stub.requests)
        run(generate_command, monkeypatch, stub, "data=miqa_sample", "data.limit=4", "output=again")
        assert len(stub.requests) == asked
    rows = [json.loads(line) for line in (here / "out" / "answers.jsonl").read_text().splitlines()]
    assert {row["answer"] for row in rows} == {"No, it could not."} if able else {"so"}
    assert f"|protocol:{'chat,greedy' if able else 'continued'}|" in metrics(here)["signature"]
    took = metrics(here)["usage"]
    assert took["requests"] == took["counted"] == len(rows)
    said = f"{len(rows)} of {len(rows)} answers are counted by the endpoint"
    assert capsys.readouterr().out.count(said) == 2, "also after the second command, which asked nothing"


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
    ("able", "arguments", "message"),
    [
        ({"completes": False}, [], "scoring=letter works with this endpoint"),
        (
            {},
            ["prompt.reply=greedy"],
            "a served model can judge by log-probabilities (prompt.reply=letter)",
        ),
        (
            {},
            ["one_by_one=2"],
            "one_by_one= measures the time that a local network saves",
        ),
        ({}, ["scoring=letter", "prompt.k=2"], "prompt.k changes no judgement"),
    ],
)
def test_judgements_that_cannot_be_had_are_refused(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    able: dict[str, Any],
    arguments: list[str],
    message: str,
) -> None:
    with serving(Stub(**able)) as stub:
        with pytest.raises(SystemExit):
            run(munch_judge_command, monkeypatch, stub, *JUDGED, *arguments)
        assert not stub.seen
    assert message in refused(capsys)


@pytest.mark.parametrize(
    ("reply", "word"),
    [("Rose", "Rose"), ('"head-office".', "head-office"), ("a word", ""), ("", ""), ("<think>Rose", "")],
)
def test_one_word_is_all_of_a_reply(reply: str, word: str) -> None:
    assert one_word(reply) == word


@pytest.mark.parametrize(
    ("able", "arguments", "message"),
    [
        ({}, ["rank=word"], "rank=word needs a local network"),
        ({}, ["candidates=words.txt"], "candidates= changes nothing under rank=first_token"),
        (
            {"ranks": False},
            ["max_rank=5"],
            "shows no likeliest tokens (logprobs); leave form=, rank= and max_rank= out",
        ),
        ({"ranks": False, "chats": False}, [], "figlang generate works with this endpoint"),
    ],
)
def test_ranks_that_cannot_be_had_are_refused(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    able: dict[str, Any],
    arguments: list[str],
    message: str,
) -> None:
    with serving(Stub(**able)) as stub:
        with pytest.raises(SystemExit):
            run(munch_generate_command, monkeypatch, stub, *MUNCH, *arguments)
        assert not stub.seen
    assert message in refused(capsys)


def test_it_cannot_be_trained(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(
        "sys.argv", ["train.py", "model=served", "model.endpoint=http://localhost:1", "model.name=x", *QUIET]
    )
    with pytest.raises(SystemExit):
        train_command()
    assert "only weights that are here can be trained" in refused(capsys)


def test_names_of_models_make_no_paths() -> None:
    config = ModelConfig(
        family="served", name="/srv/models/x y", name_or_path="", endpoint="http://localhost:8000"
    )
    assert (config.name, config.name_or_path, config.base_url) == (
        "srv-models-x-y",
        "/srv/models/x y",
        "http://localhost:8000/v1",
    )
    assert ModelConfig(**vars(config)) == config
