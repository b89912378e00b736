"""Ranks by first token: cases by hand on a scripted model, and a real network that completes every token."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from figlang.errors import FiglangError, NonFiniteError
from figlang.scoring.ranking.first_token import FirstTokenRanker, Ranked
from figlang.scoring.ranking.words import Comparison, TokenTexts, leading_word
from figlang.scoring.tree.continuing import Continuation, Path
from tests.causal_models import TREE, WHOLE, network, tokenizer

PIECES = [
    '"',
    "*",
    "</s>",
    "st",
    "em",
    "res",
    "strong",
    "sternly",
    "ly",
    "ern",
    "Ġst",
    "S",
    "s",
    "solid",
    "-",
    ".",
]


def small_tokenizer() -> PreTrainedTokenizerFast:
    built = Tokenizer(models.BPE(vocab={piece: place for place, piece in enumerate(PIECES)}, merges=[]))
    built.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=built, eos_token="</s>")


class Scripted:
    """Chunks of one prompt each.

    After tokens comes the piece that `says` names, otherwise the quotation mark.
    """

    def __init__(self, order: Sequence[str], says: Mapping[str, str], ties: Sequence[str] = ()) -> None:
        # The likeliest first; pieces that are not named are all less likely, in the order of the vocabulary.
        ranked = [*order, *(piece for piece in PIECES if piece not in order)]
        self.first = torch.tensor([float(-ranked.index(piece)) for piece in PIECES])
        for piece in ties:
            self.first[PIECES.index(piece)] = self.first[PIECES.index(ties[0])]
        self.says = says
        self.read: list[str] = []

    def chunks(self, prompts: Sequence[Sequence[int]]) -> Iterator["ScriptedChunk"]:
        for number in range(len(prompts)):
            yield ScriptedChunk(self, number)


class ScriptedChunk:
    def __init__(self, model: Scripted, number: int) -> None:
        self.prompts, self.logits, self._model = [number], model.first[None], model

    def after(self, paths: Sequence[Path]) -> Iterator[Tensor]:
        for _, tokens in paths:
            so_far = " ".join(PIECES[token] for token in tokens)
            self._model.read.append(so_far)
            row = torch.zeros(1, len(PIECES))
            row[0, PIECES.index(self._model.says.get(so_far, '"'))] = 1
            yield row


def ranked(
    model: Scripted, answers: Sequence[str], comparison: Comparison | None = None, **settings: Any
) -> Ranked:
    ranker = FirstTokenRanker(model, TokenTexts(small_tokenizer()), comparison, **settings)  # type: ignore[arg-type]
    return ranker.rank([[0]], [answers])[0]


# The example of the paper's Figure 5, whose prediction 2, `st`, becomes sternly and 4, `strong`, strongly;
# solidly is not there.
FIGURE_5 = Scripted(
    ["res", "st", "em", "strong"], {"st": "ern", "st ern": "ly", "strong": "ly", "solid": "-"}
)


def test_the_paper_s_example() -> None:
    found = ranked(FIGURE_5, ["strongly", "solidly", "sternly"])
    assert found.ranks == (4, None, 2)
    assert found.top[:4] == ("res", "st", "em", "strong")
    assert found.written == "res"


def test_several_answers_with_one_first_token_are_not_all_ranked() -> None:
    assert ranked(Scripted(["st"], {"st": "ern"}), ["stern", "strong", "stems"]).ranks == (1, 7, None)
    # `strong` is ranked by its own token, which is the 7th; `stems` begins with `st` only, and that became
    # `stern`.


def test_of_several_tokens_that_lead_to_an_answer_the_best_counts() -> None:
    model = Scripted(["em", "s", "st", "sternly"], {"s": "ern", "st": "ern", "st ern": "ly"})
    assert ranked(model, ["sternly"]).ranks == (3,)
    model = Scripted(["sternly", "st", "s"], {"s": "ern", "st": "ern", "st ern": "ly"})
    assert ranked(model, ["sternly"]).ranks == (1,)
    # What can no longer better a rank is not read on.
    assert model.read == ["sternly", "st"]


def test_answers_that_are_beginnings_of_one_another() -> None:
    model = Scripted(["st", "strong"], {"st": "ern", "st ern": "ly", "strong": '"'})
    assert ranked(model, ["stern", "sternly", "strong", "strongly"]).ranks == (None, 1, 2, None)
    model = Scripted(["st", "sternly"], {"st": "ern", "st ern": '"'})
    assert ranked(model, ["stern", "sternly"]).ranks == (1, 2)


def test_a_tie_does_not_help() -> None:
    model = Scripted(["res", "st", "em"], {"st": "ern"}, ties=["res", "st", "em"])
    assert ranked(model, ["stern"]).ranks == (3,)
    assert ranked(Scripted(["res", "st", "em"], {"st": "ern"}), ["stern"]).ranks == (2,)


def test_upper_case_and_spaces_count_unless_strict() -> None:
    model = Scripted(["Ġst", "S", "st"], {"Ġst": "ern", "S": "ern", "st": "em"})
    assert ranked(model, ["Stern", "stern", "sern"]).ranks == (1, 1, 2)
    assert ranked(model, ["Stern", "stern", "Sern"], Comparison(fold=False)).ranks == (None, 1, 2)
    assert ranked(model, ["stern", "stem"], Comparison(space=False)).ranks == (None, 3)


def test_max_rank_imitates_an_interface_that_shows_few_tokens() -> None:
    assert ranked(FIGURE_5, ["strongly", "sternly"], max_rank=3).ranks == (None, 2)
    assert ranked(FIGURE_5, ["strongly", "sternly"], max_rank=1).ranks == (None, None)


def test_a_word_ends_at_a_special_token_or_at_the_limit() -> None:
    assert ranked(Scripted(["st"], {"st": "ern", "st ern": "</s>"}), ["stern"]).ranks == (1,)
    running = Scripted(["st"], {"st": "ern", "st ern": "ly", "st ern ly": "ly"})
    assert ranked(running, ["sternly"], max_tokens=3).ranks == (1,)
    assert ranked(running, ["sternly"]).ranks[0] != 1  # it would have become sternlyly
    assert ranked(Scripted(["</s>", "st"], {"st": "ern"}), ["stern"]) == Ranked(
        (2,), "", ("", "st", '"', "*", "em")
    )


def test_a_hyphenated_answer_is_one_word() -> None:
    model = Scripted(["em", "st"], {"st": "-", "st -": "em", "em": "-", "em -": '"'})
    assert ranked(model, ["st-em", "em"]).ranks == (2, 1)


def test_a_diverged_network_is_refused() -> None:
    model = Scripted(["st"], {})
    model.first[3] = torch.nan
    with pytest.raises(NonFiniteError, match="next-token scores are not numbers"):
        ranked(model, ["st", "strong"])


@pytest.mark.parametrize(
    ("text", "word", "ended"),
    [
        ("strong", "strong", False),
        ('strong"', "strong", True),
        (" strong man", "strong", True),
        ("head-office.", "head-office", True),
        ("head-", "head-", False),
        ("head- ", "head", True),
        ("don't", "don't", False),
        ("the'\n", "the", True),
        ("-st", "", True),
        ("", "", False),
        ("naïve*", "naïve", True),
        ("  two", "", True),
    ],
)
def test_where_a_word_ends(text: str, word: str, ended: bool) -> None:
    assert leading_word(text) == (word, ended)


PROMPTS = ['the oven should be "', 'the oven was "', 'as the so "', 'the oven should be "', 'x "']


@torch.no_grad()
def everything(
    plain: PreTrainedModel, ids: Sequence[int], texts: TokenTexts, count: int
) -> list[tuple[str, int, str]]:
    """Text, rank and word of every first token that is text, all of them completed by the plain network."""
    first = plain(input_ids=torch.tensor([list(ids)])).logits[0, -1]
    whole = [token for token in range(len(texts)) if texts.of([token]) and "�" not in texts.of([token])]
    rows = torch.tensor([[*ids, token] for token in whole])
    for _ in range(count - 1):
        rows = torch.cat([rows, plain(input_ids=rows).logits[:, -1].argmax(-1)[:, None]], 1)
    found = []
    for token, row in zip(whole, rows[:, len(ids) :].tolist(), strict=True):
        size = next(
            (
                size
                for size in range(1, count)
                if leading_word(texts.of(row[:size]))[1] or row[size - 1] in texts.special
            ),
            count,
        )
        found.append(
            (
                texts.of([token]).removeprefix(" "),
                int((first >= first[token]).sum()),
                leading_word(texts.of(row[:size]))[0],
            )
        )
    return found


@pytest.mark.parametrize("family", ["llama", "gpt2", "gpt_neo", "gemma2", "rwkv", "mistral"])
def test_ranks_are_those_of_completing_every_token(family: str) -> None:
    settings = WHOLE[family] if family in ("rwkv", "mistral") else TREE[family]
    plain = network(family, **settings)
    known = tokenizer()
    texts = TokenTexts(known)
    prompts = [known(prompt, add_special_tokens=False)["input_ids"] for prompt in PROMPTS]
    answers, expected = [], []
    for ids in prompts:
        found = everything(plain, ids, texts, 4)
        words = sorted({word for _, _, word in found if word and "�" not in word})
        answers.append([*words[::5], words[3][:1], f"{words[5]}x", "absent"])
        expected.append(
            tuple(
                min(
                    (
                        rank
                        for begin, rank, word in found
                        if begin
                        and answer.casefold().startswith(begin.casefold())
                        and word.casefold() == answer.casefold()
                    ),
                    default=None,
                )
                for answer in answers[-1]
            )
        )
    assert sum(rank is not None for ranks in expected for rank in ranks) > 15
    ranker = FirstTokenRanker(Continuation(plain, 4, pack=32), texts, max_tokens=4)
    assert [one.ranks for one in ranker.rank(prompts, answers)] == expected


def test_a_network_in_few_bits_ties_no_tokens() -> None:
    plain = network("llama").bfloat16()
    (chunk,) = Continuation(plain, 4).chunks([[1, 2, 3]])
    (after,) = chunk.after([(0, (4, 5))])
    for logits_V in (chunk.logits[0], after[0]):
        assert logits_V.dtype == torch.float32
        assert len(logits_V.unique()) == len(logits_V)
    states = plain.model(input_ids=torch.tensor([[1, 2, 3]]))[0][0, -1].float()
    assert torch.allclose(chunk.logits[0], plain.lm_head.weight.float() @ states, atol=0.2, rtol=0.02)


def test_a_prompt_that_does_not_fit_is_named() -> None:
    continuation = Continuation(network("llama", max_position_embeddings=32), 8)
    with pytest.raises(
        FiglangError, match="prompt 1 has 25 tokens; with 8 for the answer, that is more than the 32"
    ):
        list(continuation.chunks([[1] * 24, [1] * 25]))
    with pytest.raises(FiglangError, match="prompt 0 has no token"):
        list(continuation.chunks([[]]))
