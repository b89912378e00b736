"""Log-probabilities of a model behind a stub endpoint: which token belongs to what, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from figlang.config import ModelConfig, SamplingConfig
from figlang.errors import FiglangError
from figlang.models.served.abilities import PROBE
from figlang.models.served.endpoint import connect
from figlang.models.served.scorer import ServedScorer
from figlang.models.served.spans import lay, tokens_of
from figlang.scoring.requests import Request
from figlang.types import Reply
from tests.needing import needs
from tests.stub_server import MODEL, WORDS, Stub, log_prob, serving

needs("openai", "needs the extra `served`")


def model(stub: Stub, **fields: Any) -> ModelConfig:
    return ModelConfig(
        family="served", name=MODEL, name_or_path="", endpoint=stub.url, **{"retries": 0, **fields}
    )


def scored(stub: Stub, folder: Path, requests: list[Request], bos: str = "none") -> list[list[float]]:
    found = ServedScorer(connect(model(stub), str(folder), "prompts"), bos).score(requests)
    return [values.tolist() for values in found.log_probs]


REQUESTS = [
    Request("", "The room was hot."),
    Request("The room", " was hot."),
    Request("The roo", "m was hot."),
    Request("It is ", "東京"),
    Request("", "It was hot."),
]


def by_hand(request: Request, bos: str = "") -> list[float]:
    tokens = ([bos] if bos else []) + WORDS.findall("".join(request))
    boundary = len(bos + request.context)
    values, place = [], 0
    for number, token in enumerate(tokens):
        place += len(token)
        if number and place > boundary:
            values.append(log_prob("".join(tokens[:number]), token))
    return values


@pytest.mark.parametrize("form", ["echo", "prompt_logprobs"])
def test_log_probabilities_are_the_servers_for_the_right_tokens(tmp_path: Path, form: str) -> None:
    with serving(Stub(echo=form == "echo", prompt_logprobs=form != "echo")) as stub:
        found = scored(stub, tmp_path, REQUESTS)
    for request, values in zip(REQUESTS, found, strict=True):
        assert values == pytest.approx(by_hand(request)), request


@pytest.mark.parametrize("form", ["echo", "prompt_logprobs"])
def test_a_servers_own_first_token_makes_the_first_word_count(tmp_path: Path, form: str) -> None:
    with serving(Stub(echo=form == "echo", prompt_logprobs=form != "echo", bos="<s>")) as stub:
        endpoint = connect(model(stub), str(tmp_path), "prompts")
        assert endpoint.abilities.starts
        (values,) = ServedScorer(endpoint, "server").score([Request("", "It was hot.")]).log_probs
    tokens = ["<s>", *WORDS.findall("It was hot.")]
    assert values.tolist() == pytest.approx(
        [log_prob("".join(tokens[:place]), tokens[place]) for place in range(1, len(tokens))]
    )


def test_strings_are_sent_once(tmp_path: Path) -> None:
    with serving(Stub()) as stub:
        result = ServedScorer(connect(model(stub), str(tmp_path), "prompts")).score(REQUESTS)
        assert len(stub.seen) == len({"".join(request) for request in REQUESTS}) == 3
        assert (result.tokens, result.read) == (5 + 5 + 5 + 3 + 4, 5 + 3 + 4)
        assert all(values.dtype == torch.float32 for values in result.log_probs)


@pytest.mark.parametrize(
    ("words", "text", "spans"),
    [
        (["The", " cat", "."], "The cat.", [(0, 3), (3, 7), (7, 8)]),
        (["The", " cat", ".", " It"], "The cat.", [(0, 3), (3, 7), (7, 8)]),
        (["<s>", "The", " cat"], "The cat", [(0, 0), (0, 3), (3, 7)]),
        (["<s>", " The", " cat"], "The cat", [(0, 0), (0, 3), (3, 7)]),
        (["", "The", " cat"], "The cat", [(0, 0), (0, 3), (3, 7)]),
        (["a", " ", "", "", " b"], "a 🙂 b", [(0, 1), (1, 2), (2, 3), (2, 3), (3, 5)]),
        (["a", " \ufffd", "\ufffd"], "a 🙂", [(0, 1), (1, 3), (1, 3)]),
        (["a", "bytes: \\xf0\\x9f", "bytes:\\x99\\x82", " b"], "a 🙂 b", [(0, 1), (1, 3), (1, 3), (3, 5)]),
        (["a", " ", "<0xF0>", "<0x9F>", " b"], "a 🙂 b", [(0, 1), (1, 2), (2, 3), (2, 3), (3, 5)]),
        (["a", "", "", " 🙂", " b"], "a 🙂 b", [(0, 1), (1, 3), (1, 3), (1, 3), (3, 5)]),
        (["", "", "🙂", " b"], "🙂 b", [(0, 0), (0, 1), (0, 1), (1, 3)]),
    ],
)
def test_tokens_are_laid_onto_the_text(words: list[str], text: str, spans: list[tuple[int, int]]) -> None:
    assert lay(words, text) == spans


def test_all_parts_of_a_character_that_begins_a_continuation_count(tmp_path: Path) -> None:
    """As vLLM shows them: nothing for the first parts, and the character where the last one completes it."""
    tokens = ["Hot", " as", "", "", " 🙂", "."]
    shown = {
        "choices": [{"logprobs": {"tokens": tokens, "token_logprobs": [None, -1.0, -2.0, -4.0, -8.0, -16.0]}}]
    }
    with serving(Stub()) as stub:
        endpoint = connect(model(stub), str(tmp_path), "prompts")
        stub.fault = lambda stub, body: (200, {}, json.dumps(shown))
        (values,) = ServedScorer(endpoint).score([Request("Hot as", " 🙂.")]).log_probs
    assert values.tolist() == [-2.0, -4.0, -8.0, -16.0]


def test_a_special_token_that_comes_as_nothing_keeps_its_place() -> None:
    assert lay(["", "end", " of"], "<|endoftext|>end of", "<|endoftext|>") == [(0, 13), (13, 16), (16, 19)]
    assert lay(["<|endoftext|>", "end"], "<|endoftext|>end", "<|endoftext|>") == [(0, 13), (13, 16)]
    assert lay(["<BOS>", " end"], "<|endoftext|>end", "<|endoftext|>") == [(0, 13), (13, 16)]


def test_a_special_token_that_is_not_shown_has_no_span() -> None:
    assert lay(["end", " of"], "<|endoftext|>end of", "<|endoftext|>") == [(13, 16), (16, 19)]


@pytest.mark.parametrize(
    ("words", "text", "message"),
    [(["The", " dog"], "The cat", "do not spell"), (["The"], "The cat", "end before the text")],
)
def test_other_tokens_than_the_texts_are_refused(words: list[str], text: str, message: str) -> None:
    with pytest.raises(FiglangError, match=message):
        lay(words, text)


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"choices": []},
        {"choices": [{"text": "x", "logprobs": None}]},
        {"choices": [{"logprobs": {"tokens": ["x", "y"], "token_logprobs": [None, None]}}]},
        {"choices": [{"logprobs": {"tokens": ["x", "y"], "token_logprobs": [None]}}]},
    ],
)
def test_an_answer_without_log_probabilities_is_refused(answer: dict[str, Any]) -> None:
    with pytest.raises(FiglangError, match="no log-probabilities"):
        tokens_of(answer, "xy")


def test_log_probabilities_that_go_missing_end_the_run(tmp_path: Path) -> None:
    with serving(Stub()) as stub:
        endpoint = connect(model(stub, concurrency=1), str(tmp_path), "prompts")
        stub.echo = False
        with pytest.raises(
            FiglangError, match=r"holds no log-probabilities of the prompt 'The room was hot.' \(0 of 3"
        ):
            ServedScorer(endpoint).score(REQUESTS)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("B", "B"),
        (None, ""),
        (
            [
                {"type": "thinking", "thinking": [{"type": "text", "text": "A?"}]},
                {"type": "text", "text": "B"},
            ],
            "B",
        ),
    ],
)
def test_the_text_of_a_reply_may_come_in_parts_or_not_at_all(tmp_path: Path, content: Any, text: str) -> None:
    body = json.dumps({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]})
    with serving(Stub(fault=lambda stub, _: (200, {}, body))) as stub:
        assert connect(model(stub), str(tmp_path), "reply").chat(["Hm?"], SamplingConfig()) == [[Reply(text)]]


def test_other_content_is_no_reply(tmp_path: Path) -> None:
    odd = Stub(fault=lambda stub, _: (200, {}, '{"choices": [{"message": {"content": 5}}]}'))
    with serving(odd), pytest.raises(FiglangError, match="an answer holds no message"):
        connect(model(odd), str(tmp_path), "reply").chat(["Hm?"], SamplingConfig())


def test_reasoning_that_runs_into_the_limit_is_a_reply_that_was_cut(tmp_path: Path) -> None:
    def reasons(stub: Stub, body: dict[str, Any]) -> Any:
        if "max_tokens" in body or "temperature" in body:
            return 400, {}, '{"error": {"message": "Unsupported parameter"}}'
        if body["max_completion_tokens"] < 100:
            return (
                400,
                {},
                '{"error": {"message": "Could not finish the message because max_tokens or model output '
                'limit was reached."}}',
            )
        return None

    with serving(Stub(completes=False, fault=reasons)) as stub:
        endpoint = connect(model(stub), str(tmp_path), "reply")
        assert endpoint.chat(["Hm?"], SamplingConfig(max_tokens=50)) == [[Reply("", True)]]
        ((answered,),) = endpoint.chat(["Hm?"], SamplingConfig(max_tokens=200))
        assert (answered.text, answered.cut) == ("B", False)
        asked = len(stub.requests)
        endpoint.chat(["Hm?"], SamplingConfig(max_tokens=50))
        assert len(stub.requests) == asked


def test_the_probe_is_paid_for_too(tmp_path: Path) -> None:
    with serving(Stub()) as stub:
        endpoint = connect(model(stub, input_price=1, output_price=1), str(tmp_path), "prompts")
        meter = endpoint.client.meter
        assert (meter.sent, meter.received) == (2 * len(WORDS.findall(PROBE)) + 1 + 10, 3)
        assert meter.cost > 0
