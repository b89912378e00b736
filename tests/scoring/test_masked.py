"""Laws of masked scoring: it equals masking one token at a time, however the work is shared and cut."""

import pytest
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from figlang.config import PromptConfig, ScoringConfig
from figlang.errors import FiglangError
from figlang.scoring.likelihood import choose
from figlang.scoring.masked import MaskedScorer
from figlang.scoring.requests import Request
from figlang.scoring.wording import Wording
from figlang.types import Item
from tests.masked_models import FAMILIES, TOKENIZERS, network, values, word_pieces

ASKED = [
    Request("The room was an oven. ", "It was hot."),
    Request("The room was an oven. ", "It was cold."),
    Request("The room was an oven.", " It was hot."),
    Request("", "The room was an oven. It was hot."),
    Request("", "It was hot."),
    Request("", "It was hot."),
    Request("", "hot"),
    Request("The room was an ov", "en. It was hot."),
    Request("The café was ", "a naïve 東京 oven"),
    Request("It was hot, ", "a" * 30),
    Request("It was [MASK], ", "hot"),
]


def check(
    network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, masking: str, **settings: int
) -> None:
    scored = MaskedScorer(network, tokenizer, masking, **settings).score(ASKED)
    for request, found in zip(ASKED, scored.log_probs, strict=True):
        assert found.dtype == torch.float32
        expected = values(network, tokenizer, request, masking == "within_word_l2r")
        assert found.tolist() == pytest.approx(expected, abs=1e-4, rel=1e-5), request


@pytest.mark.parametrize("masking", ["original", "within_word_l2r"])
@pytest.mark.parametrize("family", FAMILIES)
def test_it_equals_one_mask_at_a_time(family: str, masking: str) -> None:
    tokenizer = word_pieces()
    plain = network(family, tokenizer)
    assert MaskedScorer(plain, tokenizer).score(ASKED).fallback is None
    check(plain, tokenizer, masking)


@pytest.mark.parametrize("masking", ["original", "within_word_l2r"])
@pytest.mark.parametrize("kind", TOKENIZERS)
def test_every_kind_of_tokenizer(kind: str, masking: str) -> None:
    tokenizer = TOKENIZERS[kind]()
    check(network("roberta", tokenizer), tokenizer, masking)


def test_batches_for_which_memory_lacks_are_halved_and_no_score_changes() -> None:
    tokenizer = word_pieces()
    plain, sizes = network("bert", tokenizer), []
    expected = MaskedScorer(plain, tokenizer).score(ASKED)
    scorer = MaskedScorer(plain, tokenizer, batch_tokens=4096)

    def look(_: object, __: object, inputs: dict[str, torch.Tensor]) -> None:
        sizes.append(inputs["input_ids"].numel())
        if sizes[-1] > 200:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    hook = plain.register_forward_pre_hook(look, with_kwargs=True)
    found = scorer.score(ASKED)
    hook.remove()
    assert max(sizes) > 200 >= sizes[-1]
    for one, other in zip(expected.log_probs, found.log_probs, strict=True):
        assert other.tolist() == pytest.approx(one.tolist(), abs=1e-5)


def test_the_later_pieces_of_a_word_are_masked_with_it() -> None:
    tokenizer = word_pieces()
    plain = network("bert", tokenizer)
    seen: dict[str, list[list[str]]] = {}
    for masking in ("original", "within_word_l2r"):
        scorer = MaskedScorer(plain, tokenizer, masking, batch_tokens=1)
        rows = seen[masking] = []
        hook = plain.register_forward_pre_hook(
            lambda _, __, inputs, rows=rows: rows.append(
                tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
            ),
            with_kwargs=True,
        )
        scorer.score([Request("it was ", "wet.")])
        hook.remove()
    said = ["[CLS]", "it", "was"]
    assert seen["original"] == [
        [*said, "[MASK]", "##e", "##t", ".", "[SEP]"],
        [*said, "w", "[MASK]", "##t", ".", "[SEP]"],
        [*said, "w", "##e", "[MASK]", ".", "[SEP]"],
        [*said, "w", "##e", "##t", "[MASK]", "[SEP]"],
    ]
    assert seen["within_word_l2r"] == [
        [*said, "[MASK]", "[MASK]", "[MASK]", ".", "[SEP]"],
        [*said, "w", "[MASK]", "[MASK]", ".", "[SEP]"],
        [*said, "w", "##e", "[MASK]", ".", "[SEP]"],
        [*said, "w", "##e", "##t", "[MASK]", "[SEP]"],
    ]


def test_words_of_one_token_have_the_same_score_under_both() -> None:
    tokenizer = word_pieces()
    plain = network("bert", tokenizer)
    one, other = (
        MaskedScorer(plain, tokenizer, masking).score([Request("", "The room was an oven.")]).log_probs[0]
        for masking in ("original", "within_word_l2r")
    )
    assert one.tolist() == pytest.approx(other.tolist(), abs=1e-6)


@pytest.mark.parametrize(("batch_tokens", "logits"), [(1, 1), (40, 10**6), (4096, 200), (4096, 10**6)])
def test_budgets_change_no_value(batch_tokens: int, logits: int) -> None:
    tokenizer = word_pieces()
    check(
        network("modernbert", tokenizer),
        tokenizer,
        "within_word_l2r",
        batch_tokens=batch_tokens,
        logits=logits,
    )


@pytest.mark.parametrize("family", ["roberta", "modernbert", "deberta-v2"])
def test_companions_and_order_change_no_value(family: str) -> None:
    tokenizer = word_pieces()
    scorer = MaskedScorer(network(family, tokenizer), tokenizer)
    together = scorer.score(ASKED).log_probs
    backwards = scorer.score(ASKED[::-1]).log_probs[::-1]
    for request, one, other in zip(ASKED, together, backwards, strict=True):
        (alone,) = scorer.score([request]).log_probs
        assert one.tolist() == pytest.approx(alone.tolist(), abs=1e-5, rel=1e-5)
        assert one.tolist() == pytest.approx(other.tolist(), abs=1e-5, rel=1e-5)


def test_every_distinct_masked_sequence_is_read_once() -> None:
    tokenizer = word_pieces()
    plain = network("bert", tokenizer)
    scorer = MaskedScorer(plain, tokenizer, batch_tokens=1)
    rows: list[tuple[int, ...]] = []
    plain.register_forward_pre_hook(
        lambda _, __, inputs: rows.append(tuple(inputs["input_ids"][0].tolist())), with_kwargs=True
    )
    scored = scorer.score(ASKED)
    assert len(rows) == len(set(rows)) == scored.positions
    assert sum(map(len, rows)) == scored.read < scored.tokens
    # "hot" and "cold" stand behind one and the same mask.
    hot, cold = (scorer.score([Request("It was ", word)]).positions for word in ("hot", "cold"))
    assert (hot, cold, scorer.score([Request("It was ", word) for word in ("hot", "cold")]).positions) == (
        1,
        1,
        1,
    )


@pytest.mark.parametrize("logits", [1, 400, 10**6])
def test_logits_stay_within_the_budget_and_no_other_place_has_any(logits: int) -> None:
    tokenizer = word_pieces()
    plain = network("bert", tokenizer)
    scorer = MaskedScorer(plain, tokenizer, batch_tokens=10**6, logits=logits)
    sizes: list[int] = []
    plain.get_output_embeddings().register_forward_hook(lambda _, __, output: sizes.append(output.numel()))
    scored = scorer.score(ASKED)
    assert max(sizes) <= max(logits, len(tokenizer))
    assert sum(sizes) == scored.positions * len(tokenizer)


def test_a_head_that_needs_the_whole_sequence_is_found_out(caplog: pytest.LogCaptureFixture) -> None:
    tokenizer = word_pieces()
    plain = network("bert", tokenizer)
    plain.cls.register_forward_pre_hook(lambda _, inputs: (inputs[0] - inputs[0][:, :1],))
    with caplog.at_level("INFO", "figlang"):
        fallback = MaskedScorer(plain, tokenizer).score(ASKED).fallback
    assert fallback is not None
    assert "its head makes something else of single states" in fallback
    assert [record.message for record in caplog.records] == [
        f"masked scoring computes the logits of every token: {fallback}"
    ]
    check(plain, tokenizer, "original", logits=len(tokenizer) * 100)


def test_bf16_is_near_float32() -> None:
    tokenizer = word_pieces()
    plain = network("roberta", tokenizer)
    exact = MaskedScorer(plain, tokenizer).score(ASKED).log_probs
    scored = MaskedScorer(plain.to(torch.bfloat16), tokenizer).score(ASKED)
    assert scored.fallback is None
    for one, other in zip(exact, scored.log_probs, strict=True):
        assert other.dtype == torch.float32
        assert one.tolist() == pytest.approx(other.tolist(), abs=1.5)


def test_dropout_is_off() -> None:
    tokenizer = word_pieces()
    plain = network("bert", tokenizer)
    scorer = MaskedScorer(plain, tokenizer)
    plain.train()
    one, other = (torch.cat(scorer.score(ASKED).log_probs) for _ in range(2))
    assert torch.equal(one, other)


# 64 tokens with [CLS] and [SEP]; RoBERTa's positions begin behind that of the padding token, which is 0 here.
@pytest.mark.parametrize(("family", "positions"), [("bert", 64), ("roberta", 65)])
def test_a_string_may_fill_the_window_and_no_more(family: str, positions: int) -> None:
    tokenizer = word_pieces()
    scorer = MaskedScorer(network(family, tokenizer, max_position_embeddings=positions), tokenizer)
    assert len(scorer.score([Request("It was ", "a" * 60)]).log_probs[0]) == 60
    with pytest.raises(
        FiglangError, match=r"request 1 \('It was a+'\) has 65 tokens .* the network reads 64; shorten it"
    ):
        scorer.score([Request("", "hot"), Request("It was ", "a" * 61)])


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request("The room", ""), "request 1 .'The room'. has an empty continuation"),
        (
            Request("The room", "  "),
            "request 1 .'The room'. has no token of its own for its continuation '  '",
        ),
    ],
)
def test_what_cannot_be_scored_is_refused_by_name(request_: Request, message: str) -> None:
    tokenizer = word_pieces()
    with pytest.raises(FiglangError, match=message):
        MaskedScorer(network("bert", tokenizer), tokenizer).score([Request("a", "b"), request_])


def test_wrong_settings_are_refused() -> None:
    tokenizer = word_pieces()
    plain = network("bert", tokenizer)
    with pytest.raises(
        FiglangError, match="masking=l2r is not a choice; choose one of original, within_word_l2r"
    ):
        MaskedScorer(plain, tokenizer, "l2r")
    tokenizer.mask_token = None
    with pytest.raises(FiglangError, match="has no mask token"):
        MaskedScorer(plain, tokenizer)


def test_no_requests_no_scores() -> None:
    tokenizer = word_pieces()
    assert MaskedScorer(network("bert", tokenizer), tokenizer).score([]).log_probs == []


def test_choices_are_made_of_it_as_of_any_log_probabilities() -> None:
    tokenizer = word_pieces()
    plain = network("bert", tokenizer)
    hot = Item("1", "1", "the room was an oven", ("it was hot.", "it was cold."), 0)
    cold = Item("2", "1", "the room was a fridge", ("it was hot.", "it was cold."), 1)
    scoring = ScoringConfig(span="answer", norm="sum", minus_alone=True)
    found = choose(MaskedScorer(plain, tokenizer), [hot, cold], Wording(scoring, PromptConfig()))

    def by_hand(metaphor: str, answer: str, alone: bool = False) -> float:
        given = sum(values(plain, tokenizer, Request(f"{metaphor} ", answer), within_word=False))
        return (
            given - sum(values(plain, tokenizer, Request("", answer), within_word=False)) if alone else given
        )

    for row, metaphor in zip(found.forward, ("The room was an oven.", "The room was a fridge."), strict=True):
        expected = [by_hand(metaphor, answer, alone=True) for answer in ("It was hot.", "It was cold.")]
        assert row.scores == pytest.approx(expected, abs=1e-4)
    assert [row.id for row in found.backward] == ["1", "2"]
