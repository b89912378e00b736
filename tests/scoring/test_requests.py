"""The space before an answer belongs to the answer, whether its tokenizer merges the two or not."""

from collections.abc import Sequence

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from figlang.config import PromptConfig, ScoringConfig
from figlang.scoring.requests import Request, RequestEncoder, SpanFinder
from figlang.scoring.tree.branching import StringEncoder
from figlang.scoring.tree.causal import CausalScorer
from figlang.scoring.wording import Wording
from figlang.types import Item
from tests.causal_models import network

TOMB = Item("t", "t", "The hall was a tomb", ("3 guests came.", "Nobody came at all."), 0)
TEXTS = [
    "The hall was a tomb. 3 guests came.",
    "The hall was a tomb. Nobody came at all.",
    "It is what it was: a tomb.",
]


@pytest.fixture(scope="module")
def splitting() -> PreTrainedTokenizerFast:
    """A byte-level tokenizer that splits digits off, so that the space before a digit is its own token."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    made.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made.train_from_iterator(
        TEXTS * 3, trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    )
    return PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>")


def scored_text(tokenizer: PreTrainedTokenizerFast, ids: Sequence[int]) -> str:
    return str(tokenizer.decode(ids, clean_up_tokenization_spaces=False))


@pytest.mark.parametrize(
    "template", ["{metaphor} {answer}", "{metaphor}, that is,  {answer}", "{metaphor}\n{answer}"]
)
def test_the_tokens_of_an_answer_spell_it_with_its_space(
    splitting: PreTrainedTokenizerFast, template: str
) -> None:
    wording = Wording(ScoringConfig(template=template, span="answer"), PromptConfig())
    requests = [wording.span("", TOMB.context, option) for option in TOMB.options]
    encoded, _ = RequestEncoder(splitting, "add").encode(requests)
    for request, tokens in zip(requests, encoded, strict=True):
        spaces = request.context[len(request.context.rstrip(" ")) :]
        # A line break is no part of the answer.
        assert scored_text(splitting, tokens.ids[tokens.start :]) == spaces + request.continuation
        assert scored_text(splitting, tokens.ids[1 : tokens.start]) == request.context.rstrip(" ")


def test_metaphor_and_answer_make_the_whole(splitting: PreTrainedTokenizerFast) -> None:
    plain = network("llama", vocabulary=len(splitting))
    wording = Wording(ScoringConfig(), PromptConfig())
    for option in TOMB.options:
        asked = [
            wording.span("", TOMB.context, option),
            wording.alone("", TOMB.context),
            wording.whole("", TOMB.context, option),
        ]
        answer, metaphor, whole = (
            float(one.double().sum()) for one in CausalScorer(plain, splitting, "add").score(asked).log_probs
        )
        assert answer + metaphor == pytest.approx(whole, abs=1e-4)


def test_training_scores_what_evaluation_does(splitting: PreTrainedTokenizerFast) -> None:
    encoder = StringEncoder(
        RequestEncoder(splitting, "add"),
        Wording(ScoringConfig(span="answer", norm="sum"), PromptConfig()),
        True,
    )
    (example,) = encoder.encode([TOMB])
    counted = torch.bincount(example.scored[:, 3]).tolist()
    found = SpanFinder(splitting).find(
        [encoder.wording.span("", TOMB.context, option) for option in TOMB.options]
    )
    assert counted == [len(encoding.ids) - first for _, encoding, first in found]


def test_a_context_of_spaces_is_all_continuation(splitting: PreTrainedTokenizerFast) -> None:
    ((_, encoding, first),) = SpanFinder(splitting).find([Request("  ", "3 guests")])
    assert first == 0
    assert scored_text(splitting, encoding.ids) == "  3 guests"
