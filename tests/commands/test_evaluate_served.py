"""Commands with a model behind a stub endpoint: likelihoods, letters, free text, refusals."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaluate import main as evaluate_command
from figlang.commands.generate import main as generate_command
from figlang.config import ModelConfig
from figlang.evaluation.processes import Processes
from tests.commands.served import QUIET, metrics, refused, run
from tests.needing import needs
from tests.stub_server import MODEL, Stub, serving
from train import main as train_command

needs("openai", "needs the extra `served`")


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


@pytest.mark.parametrize("data", ["figqa_sample", "miqa_sample"])
def test_letters_need_a_chat_only(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    data: str,
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
    heading = next(line for line in capsys.readouterr().out.splitlines() if "scored by letters" in line)
    assert heading.endswith(", each item in both orders") == (data == "figqa_sample")
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
    assert "unread replies" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["scoring=letter", "scoring.max_tokens=9"],
        ["protocol=letter", "protocol.max_tokens=9"],
    ],
)
def test_replies_that_were_cut_name_the_option_that_lets_them_end(
    words: list[str], here: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cut = {"message": {"role": "assistant", "content": "Let me think"}, "index": 0, "finish_reason": "length"}
    answer = 200, {}, json.dumps({"choices": [cut]})
    with serving(Stub(fault=lambda _, body: answer if "(A)" in str(body) else None)) as stub:
        run(evaluate_command, monkeypatch, stub, "data.limit=4", *words)
    assert f"8 cut at {words[1]})" in caplog.text


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
            "another is given) needs log-probabilities of prompts, but http",
        ),
        (
            {"completes": False},
            ["scoring=clean"],
            "this endpoint can do scoring=letter (figlang evaluate)",
        ),
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
        ({}, ["model.extra_body={top_k:20,api_key:sk-123}"], "model.extra_body holds a key in api_key"),
        ({}, ["model.extra_body={headers:{X-Auth-Token:sk-1}}"], "holds a key in X-Auth-Token"),
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


def test_an_endpoint_that_learnt_more_is_probed_again(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_prompts_of_a_served_model_end_in_one_table_with_paired_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(Stub(completes=False, reply=lambda message: "B" if "Q: " in message else "A")) as stub:
        words = [*stub.words, "paths.cache=cache"]
        asked = ["data=miqa_sample", "data.limit=8", "scoring=letter", "blind=false"]
        quiet = ["trainer=cpu", "trainer.progress=false", "trainer.threads=1"]
        monkeypatch.setattr(
            "sys.argv", ["evaluate.py", "-m", *words, *asked, *quiet, "prompt=miqa_numbered,miqa_qa"]
        )
        evaluate_command()
    shown = capsys.readouterr().out
    place = shown.index("Every two systems")
    for row in ("numbered", "qa"):
        assert row in shown[:place].rpartition("Systems")[2], "ranked"
        assert row in shown[place:], "compared"
    assert "Holm" in shown[place:]
