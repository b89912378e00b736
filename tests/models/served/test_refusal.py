"""Prompts that an endpoint refuses, and empty answers: they are not scored, and the evaluation ends."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaluate import main as evaluate_command
from figlang.config import ModelConfig, SamplingConfig
from figlang.errors import FiglangError
from figlang.models.served.endpoint import connect
from figlang.models.served.scorer import ServedScorer
from figlang.models.served.spans import lay, tokens_of
from figlang.runs.recomputed import checked
from figlang.scoring.requests import Request
from figlang.types import Reply
from tests.commands.served import metrics, run
from tests.needing import needs
from tests.reproducing import munch_generate as munch_generate_command
from tests.stub_server import MODEL, Stub, serving

needs("openai", "needs the extra `served`")

# How several hosts say it.
FILTERS = {
    "Azure": (
        400,
        {
            "error": {
                "code": "content_filter",
                "message": "The response was filtered due to the prompt.",
                "status": 400,
            }
        },
    ),
    "OpenAI": (
        400,
        {
            "error": {
                "code": "invalid_prompt",
                "message": "Your prompt was flagged as violating our usage policy.",
            }
        },
    ),
    "OpenRouter": (
        403,
        {
            "error": {
                "code": 403,
                "message": "Your chosen model requires moderation",
                "metadata": {"reasons": []},
            }
        },
    ),
    "DashScope": (
        400,
        {
            "error": {
                "code": "data_inspection_failed",
                "message": "Input data may contain inappropriate content.",
            }
        },
    ),
    "a router": (200, {"error": {"code": 400, "message": "Output blocked by content filtering policy"}}),
}


def refusing(word: str, answer: tuple[int, Any] = FILTERS["Azure"]) -> Any:
    """A fault of a stub that refuses every prompt with `word` in it."""
    return lambda stub, body: (answer[0], {}, json.dumps(answer[1])) if word in json.dumps(body) else None


def model(stub: Stub, **fields: Any) -> ModelConfig:
    return ModelConfig(
        family="served", name=MODEL, name_or_path="", endpoint=stub.url, **{"retries": 0, **fields}
    )


REQUESTS = [Request("The room", " was hot."), Request("The dagger", " was hot."), Request("It was", " cold.")]


@pytest.mark.parametrize("name", FILTERS)
def test_a_prompt_that_a_filter_refuses_is_passed_over_counted_and_not_asked_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    with serving(Stub()) as stub:
        endpoint = connect(model(stub), str(tmp_path), "prompts")
        stub.fault = refusing("dagger", FILTERS[name])
        found = ServedScorer(endpoint).score(REQUESTS).log_probs
        asked = len(stub.requests)
        again = ServedScorer(endpoint).score(REQUESTS).log_probs
        assert len(stub.requests) == asked
    assert [len(values) for values in found] == [len(values) for values in again] == [3, 0, 2]
    assert "1 of 3 prompts were refused by a content filter of http" in caplog.text


@pytest.mark.parametrize(
    "fault",
    [
        (
            400,
            {
                "error": {
                    "message": "This model's maximum context length is 2048 tokens",
                    "code": "context_length_exceeded",
                }
            },
        ),
        (400, {"error": {"message": "Unsupported parameter: logprobs"}}),
        (403, {"error": {"message": "No access to this model"}}),
    ],
)
def test_another_refusal_ends_the_asking(tmp_path: Path, fault: tuple[int, Any]) -> None:
    with serving(Stub()) as stub:
        endpoint = connect(model(stub), str(tmp_path), "prompts")
        stub.fault = refusing("dagger", fault)
        with pytest.raises(FiglangError, match="answers are stored; the same command resumes"):
            ServedScorer(endpoint).score(REQUESTS)


def test_a_filter_that_refuses_the_probe_is_no_endpoint(tmp_path: Path) -> None:
    with (
        serving(Stub(fault=refusing(""))) as stub,
        pytest.raises(FiglangError, match=r"answers 400: .*filtered"),
    ):
        connect(model(stub), str(tmp_path), "reply")


def test_a_reply_that_a_filter_stops_says_so(tmp_path: Path) -> None:
    stopped = {"choices": [{"message": {"content": None}, "finish_reason": "content_filter"}]}
    with serving(Stub()) as stub:
        endpoint = connect(model(stub), str(tmp_path), "reply")
        stub.fault = refusing("dagger")
        assert endpoint.chat(["a dagger", "Hm?"], SamplingConfig()) == [
            [Reply("", refused=True)],
            [Reply("B", usage={"tokens_in": 10, "tokens_out": 1})],
        ]
        stub.fault = lambda stub, body: (200, {}, json.dumps(stopped))
        assert endpoint.chat(["And?"], SamplingConfig()) == [[Reply("", refused=True)]]
        stub.fault = refusing("dagger")
        assert endpoint.complete(["a dagger", "a room"], SamplingConfig()) == [[""], [" so"]]
        assert [len(top) for top in endpoint.likeliest(["a dagger", "a room"], 5)] == [0, 1]


# Answers that look like those to `prompt_logprobs` and hold nothing, or not all, of the prompt "The room was
# hot."
EMPTY: dict[str, Any] = {
    "a null": [None],
    "nulls": [None, None, None],
    "the end alone": [None, {"7": {"logprob": -1.0, "decoded_token": "."}}],
    "NaN": [None, {"7": {"logprob": float("nan"), "decoded_token": " room was hot."}}],
    "infinity": [None, {"7": {"logprob": float("-inf"), "decoded_token": " room was hot."}}],
    "another text": [None, {"7": {"logprob": -1.0, "decoded_token": " dog"}}],
    "no list": 5,
}


def emptied(rows: Any) -> Any:
    def fault(stub: Stub, body: dict[str, Any]) -> Any:
        if "prompt_logprobs" in body:
            return 200, {}, json.dumps({"choices": [{"text": " so", "prompt_logprobs": rows}]})
        return None

    return fault


@pytest.mark.parametrize("name", EMPTY)
def test_an_answer_without_log_probabilities_passes_no_probe(tmp_path: Path, name: str) -> None:
    with (
        serving(Stub(echo=False, prompt_logprobs=True, fault=emptied(EMPTY[name]))) as stub,
        pytest.raises(
            FiglangError, match=r"likelihood scoring \(scoring=clean.*\) needs log-probabilities of prompts"
        ),
    ):
        connect(model(stub), str(tmp_path), "prompts")


@pytest.mark.parametrize("name", EMPTY)
def test_such_an_answer_is_not_stored_and_a_stored_one_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    with serving(Stub(echo=False, prompt_logprobs=True)) as stub:
        endpoint = connect(model(stub), str(tmp_path), "prompts")
        stub.fault = emptied(EMPTY[name])
        with pytest.raises(FiglangError, match=r"\(0 of 1 answers are stored"):
            endpoint.read(["The room was hot."])
        with monkeypatch.context() as patch:  # as it was stored by versions that did not look
            patch.setattr("figlang.models.served.client._useless", lambda *_: None)
            with pytest.raises(FiglangError):
                endpoint.read(["The room was hot."])
        stub.fault = lambda stub, body: None
        (tokens,) = endpoint.read(["The room was hot."])
        assert tokens is not None
        assert len(tokens) == 5
    assert "1 answer stored in" in caplog.text
    assert "cannot be used; it is asked for again" in caplog.text


def test_a_finding_of_an_earlier_probe_is_not_believed(tmp_path: Path) -> None:
    with serving(Stub()) as stub:
        connect(model(stub), str(tmp_path), "prompts")
        (path,) = (tmp_path / "served").glob("*.jsonl")
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        assert [row["body"] for row in rows if row["route"] == "probe"] == [{"before": "", "checks": 2}]


def test_a_stored_line_without_an_answer_is_damaged(tmp_path: Path) -> None:
    with serving(Stub()) as stub:
        endpoint = connect(model(stub), str(tmp_path), "prompts")
        endpoint.read(["It was."])
        path = endpoint.client.store.path
        rows = [{**json.loads(line), "answer": 5} for line in path.read_text().splitlines()]
        path.write_text(
            "".join(json.dumps(row) + "\n" for row in rows) + '{"key": "x"}\n' + "[" * 100_000 + "\n"
        )
        (tokens,) = connect(model(stub), str(tmp_path), "prompts").read(["It was."])
        assert tokens is not None


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["", "."], "The room was hot."),
        (["The", "", "."], "The room was very hot."),
        ([""], "x" * 40),
        (["a", ""], "a b c"),
    ],
)
def test_tokens_without_text_stand_for_a_word_at_most(words: list[str], text: str) -> None:
    with pytest.raises(FiglangError, match="leave out a part of the text"):
        lay(words, text)


def test_one_token_alone_has_no_log_probability() -> None:
    with pytest.raises(FiglangError, match="holds no log-probabilities of the prompt 'Yes'"):
        tokens_of({"choices": [{"prompt_logprobs": [None]}]}, "Yes")


FIGQA = ["data=figqa_sample", "data.limit=6"]
MIQA = ["data=miqa_sample", "data.limit=8", "prompt=miqa_qa"]


@pytest.mark.parametrize("data", [FIGQA, [*FIGQA, "scoring=pmi", "model.bos=<|endoftext|>"], MIQA])
def test_a_likelihood_evaluation_ends_with_the_refused_items_as_ties(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], data: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(Stub()) as stub:
        run(evaluate_command, monkeypatch, stub, *data)
        whole = [
            json.loads(line) for line in (tmp_path / "out" / "predictions.jsonl").read_text().splitlines()
        ]
        prompts = [body["prompt"] for body in stub.seen if body.get("echo")]
        # The longest has a context. An answer alone may come first, and no choice needs it.
        refused = max(prompts, key=len)
        stub.fault = lambda stub, body: refusing("")(stub, body) if body.get("prompt") == refused else None
        capsys.readouterr()
        run(evaluate_command, monkeypatch, stub, *data, "paths.cache=third", "overwrite=true")
        shown = capsys.readouterr().out
    rows = [json.loads(line) for line in (tmp_path / "out" / "predictions.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [row["id"] for row in whole]
    invalid = [row for row in rows if row["choice"] is None]
    assert len(invalid) == metrics(tmp_path)["refused"]["items"] >= 1
    assert all(set(row["scores"]) == {0.0} for row in invalid)
    assert [row for row in rows if row not in invalid] == [
        row for row in whole if row["id"] not in {one["id"] for one in invalid}
    ]
    assert "refused items" in shown
    assert checked(tmp_path / "out" / "metrics.json")["metrics"] == metrics(tmp_path)["metrics"]


def test_a_letter_evaluation_ends_with_the_refused_replies_as_invalid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    seen: list[str] = []

    def first(stub: Stub, body: dict[str, Any]) -> Any:
        message = json.dumps(body.get("messages", ""))
        if "statement" in message and (not seen or message == seen[0]):
            seen.append(message)
            return refusing("")(stub, body)
        return None

    with serving(Stub(completes=False, fault=first)) as stub:
        run(evaluate_command, monkeypatch, stub, *FIGQA, "scoring=letter", "model.concurrency=1")
        assert len(seen) == 1
    found = metrics(tmp_path)["replies"]
    assert (found["n"], found["refused"], round(12 * found["invalid"]["value"])) == (12, 1, 1)
    rows = [json.loads(line) for line in (tmp_path / "out" / "replies.jsonl").read_text().splitlines()]
    assert [row["letter"] for row in rows if row["refused"]] == [None]


def test_a_blank_that_is_refused_ranks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    munch = ["data=munch_generation", "data.root=package:figlang/samples", "data.limit=6", "prompts=[PTGS54]"]
    with serving(Stub(fault=refusing("unveil"))) as stub:
        run(munch_generate_command, monkeypatch, stub, *munch)
    rows = [
        json.loads(line) for line in (tmp_path / "out" / "rankings" / "PTGS54.jsonl").read_text().splitlines()
    ]
    assert [(set(row["ranks"]), row["top"]) for row in rows if not row["written"]] == [({None}, [])] * 2
    assert len(rows) == 6


def test_a_refusal_of_a_model_is_not_blamed_on_the_key_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """403 often means that a key is not for this model or place, which only the server's words say."""
    monkeypatch.setenv("STUB_KEY", "sk-secret")
    said = '{"error": {"message": "Project p has no access to model m (key sk-secret)"}}'
    with serving(Stub()) as stub:
        endpoint = connect(model(stub, key_env="STUB_KEY"), str(tmp_path), "prompts")
        stub.fault = lambda stub, body: (403, {}, said)
        with pytest.raises(FiglangError, match=r"403: .*has no access to model m.*STUB_KEY") as failed:
            ServedScorer(endpoint).score(REQUESTS)
    assert "sk-secret" not in str(failed.value)
