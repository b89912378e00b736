"""Log-probabilities of a model behind an endpoint (a stub on loopback): whose token is whose, and what is refused."""

from pathlib import Path
from typing import Any

import pytest
import torch

from figlang.config import ModelConfig
from figlang.errors import FiglangError
from figlang.scoring.requests import Request
from figlang.scoring.served import ServedScorer
from figlang.served.endpoint import connect
from figlang.served.spans import lay, tokens_of
from tests.stub_server import MODEL, WORDS, Stub, log_prob, serving

pytest.importorskip("openai", reason="needs the extra `served`")


def model(stub: Stub, **fields: Any) -> ModelConfig:
    return ModelConfig(family="served", name=MODEL, name_or_path="", endpoint=stub.url, **{"retries": 0, **fields})


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
    assert values.tolist() == pytest.approx([log_prob("".join(tokens[:place]), tokens[place]) for place in range(1, len(tokens))])


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
    ],
)
def test_tokens_are_laid_onto_the_text(words: list[str], text: str, spans: list[tuple[int, int]]) -> None:
    assert lay(words, text) == spans


def test_a_special_token_that_comes_as_nothing_keeps_its_place() -> None:
    assert lay(["", "end", " of"], "<|endoftext|>end of", "<|endoftext|>") == [(0, 13), (13, 16), (16, 19)]
    assert lay(["<|endoftext|>", "end"], "<|endoftext|>end", "<|endoftext|>") == [(0, 13), (13, 16)]
    assert lay(["<BOS>", " end"], "<|endoftext|>end", "<|endoftext|>") == [(0, 13), (13, 16)]


def test_a_special_token_that_is_not_shown_has_no_span() -> None:
    assert lay(["end", " of"], "<|endoftext|>end of", "<|endoftext|>") == [(13, 16), (16, 19)]


@pytest.mark.parametrize(
    ("words", "text", "message"), [(["The", " dog"], "The cat", "do not spell"), (["The"], "The cat", "end before the text")]
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
        with pytest.raises(FiglangError, match=r"holds no log-probabilities .* though earlier ones did .*\(0 of 3"):
            ServedScorer(endpoint).score(REQUESTS)
