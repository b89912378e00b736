"""Ranks of whole words equal those of scoring every candidate by itself, by causal and masked models."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from figlang.errors import FiglangError, NonFiniteError
from figlang.scoring.masked import MaskedScorer
from figlang.scoring.ranking import infilling
from figlang.scoring.ranking.first_token import Ranked
from figlang.scoring.ranking.word_readers import LONGEST, CausalReader, MaskedReader
from figlang.scoring.ranking.word_search import Node, WordRanker
from figlang.scoring.tree.continuing import Continuation
from figlang.types import Blank, Marked
from tests import causal_models, masked_models

# Beginnings of one another, words of one token and of many, capitals, a hyphen, an accent.
WORDS = [
    "the",
    "then",
    "oven",
    "ovens",
    "as",
    "a",
    "hot",
    "Hot",
    "was",
    "head-office",
    "so",
    "naïve",
    "oventhe",
    "s",
    "x",
]
ANSWERS = [("oven", "as", "absent"), ("the", "then"), ("x", "oven", "ovens", "hot")]


def blank(before: str, after: str, answers: Sequence[str], number: int = 0) -> Blank:
    item = Marked(f"s{number}", f"g{number}", "The oven was hot.", tuple(answers), None, target=(4, 8))
    return Blank(item, before, after)


def ranks(scores: dict[str, float], answers: Sequence[str], listed: Sequence[str]) -> tuple[int, ...]:
    counted = {*listed, *answers}
    return tuple(sum(scores[word] >= scores[answer] for word in counted) for answer in answers)


@torch.no_grad()
def by_itself(plain: PreTrainedModel, known: PreTrainedTokenizerBase, blank: Blank, word: str) -> float:
    ids = known(f'{blank.before}{word}"', add_special_tokens=False)["input_ids"]
    start = len(known(blank.before, add_special_tokens=False)["input_ids"])
    return sum(causal_models.values(plain, ids, start))


@pytest.mark.parametrize("max_rank", [None, 3])
@pytest.mark.parametrize("family", ["llama", "gpt2", "rwkv"])
def test_causal_ranks_are_those_of_scoring_every_word(family: str, max_rank: int | None) -> None:
    plain = causal_models.network(family, **{**causal_models.TREE, **causal_models.WHOLE}[family])
    known = causal_models.tokenizer()
    befores = ['the oven should be "', 'as the so "', 'the oven should be "']
    blanks = [blank(before, "", answers) for before, answers in zip(befores, ANSWERS, strict=True)]
    reader = CausalReader(Continuation(plain, 24, pack=32), known, "none", inserts=False)
    found = WordRanker(reader, WORDS, ANSWERS, max_rank).rank(blanks)
    for one, asked, answers in zip(found, blanks, ANSWERS, strict=True):
        scores = {word: by_itself(plain, known, asked, word) for word in {*WORDS, *answers}}
        expected = ranks(scores, answers, WORDS)
        assert one.ranks == tuple(rank if max_rank is None or rank <= max_rank else None for rank in expected)
        counted = sorted({*WORDS, *answers}, key=lambda word: -scores[word])
        assert one.top == tuple(counted[:5])
        assert one.written == counted[0]


@pytest.mark.parametrize("tokens", masked_models.TOKENIZERS)
def test_masked_ranks_are_those_of_filling_every_word(tokens: str) -> None:
    known = masked_models.TOKENIZERS[tokens]()
    plain = masked_models.network(
        "roberta" if tokens == "bytes" else "bert", known, max_position_embeddings=130
    )
    blanks = [blank("It was *", "* in the room.", ANSWERS[0]), blank("The room *", "* hot!", ANSWERS[1])]
    ranker = WordRanker(MaskedReader(MaskedScorer(plain, known), known), WORDS, ANSWERS[:2])
    pieces = {
        word: tuple(ids[place] for place in places)
        for word in (*WORDS, "absent")
        for ids, places in [cut(known, "*", word, "*")]
    }
    assert ranker.unknown == [word for word in pieces if known.unk_token_id in pieces[word]]
    for one, asked, answers in zip(ranker.rank(blanks), blanks, ANSWERS, strict=False):
        # Words that are the same to the tokenizer count once.
        counted = {pieces[word]: word for word in (*WORDS, *answers) if word not in ranker.unknown}
        scores = {ids: filled(plain, known, asked, word) for ids, word in counted.items()}
        for answer, rank in zip(answers, one.ranks, strict=True):
            known_rank = (
                sum(value >= scores[pieces[answer]] for value in scores.values())
                if pieces[answer] in scores
                else None
            )
            assert rank == known_rank


def cut(known: PreTrainedTokenizerBase, before: str, word: str, after: str) -> tuple[list[int], list[int]]:
    """The tokens of a text, and the places of those of the word, by the tokenizer's own call."""
    encoding = known(f"{before}{word}{after}", return_offsets_mapping=True, return_special_tokens_mask=True)
    first, last = len(before), len(before) + len(word)
    spans = zip(encoding.offset_mapping, encoding.special_tokens_mask, strict=True)
    return encoding.input_ids, [
        place
        for place, ((start, end), special) in enumerate(spans)
        if not special and start < last and end > first
    ]


@torch.no_grad()
def filled(plain: PreTrainedModel, known: PreTrainedTokenizerBase, blank: Blank, word: str) -> float:
    """Chain rule within the word, one sentence at a time."""
    whole, places = cut(known, blank.before, word, blank.after)
    total = 0.0
    for place in places:
        ids = [
            known.mask_token_id if other >= place and other in places else token
            for other, token in enumerate(whole)
        ]
        total += float(plain(input_ids=torch.tensor([ids])).logits[0, place].log_softmax(-1)[whole[place]])
    return total


class Counting:
    """A reader of one blank whose tokens are letters. `says` gives the log-probability of each."""

    by_length = False

    def __init__(self, says: Callable[[int], float]) -> None:
        self.says, self.asked = says, list[Node]()
        self.numbers = [0]

    def pieces(self, words: Sequence[str]) -> list[tuple[int, ...]]:
        return [tuple(map(ord, word)) for word in words]

    def blanks(self, blanks: Sequence[Blank]) -> Any:
        yield self

    def log_probs(self, asked: Sequence[tuple[int, Node]]) -> list[list[float]]:
        self.asked += [node for _, node in asked]
        return [[self.says(token) for token in node.children] for _, node in asked]


def test_beginnings_that_cannot_matter_are_not_read() -> None:
    words = [one + other for one in "abcdefghijklmnopqrst" for other in "xyz"]
    endings = {"x": -0.1, "y": -0.2, "z": -0.3}
    reader = Counting(lambda token: endings.get(chr(token), float(ord("a") - token)))
    found = WordRanker(reader, words, [["bx"]]).rank([blank("", "", ["bx"])])
    assert found[0] == Ranked((4,), "ax", ("ax", "ay", "az", "bx", "by"))
    assert len(reader.asked) <= 10  # of 21


def test_equal_words_share_the_worst_place() -> None:
    reader = Counting(lambda token: -1.0)
    assert WordRanker(reader, ["a", "b", "c", "dd"], [["b", "dd"]]).rank([blank("", "", ["b", "dd"])])[
        0
    ].ranks == (3, 4)


def test_a_diverged_network_is_refused() -> None:
    reader = Counting(lambda token: float("nan"))
    with pytest.raises(NonFiniteError, match="log-probabilities are not numbers"):
        WordRanker(reader, ["a", "b"], [["b"]]).rank([blank("", "", ["b"])])


FIM = ["<fim_prefix>", "<fim_suffix>", "<fim_middle>"]


def test_insertion_puts_both_sides_before_the_answer() -> None:
    known = causal_models.tokenizer()
    with pytest.raises(FiglangError, match="no fill-in-the-middle tokens; use form=quote"):
        infilling.encode(known, [blank("The *", "* was hot.", ["x"])])
    known.add_special_tokens({"additional_special_tokens": FIM})
    (ids,) = infilling.encode(known, [blank("The *", "* was hot.", ["x"])], bos=7)
    assert known.decode(ids[1:]) == "<fim_prefix>The *<fim_suffix>* was hot.<fim_middle>"
    assert ids[0] == 7
    (plain,) = infilling.encode(known, [blank('be "', "", ["x"])])
    assert known.decode(plain) == 'be "'


def test_only_insertion_needs_an_end_of_text() -> None:
    known = causal_models.tokenizer()
    known.eos_token = None
    CausalReader(Continuation(causal_models.network("llama"), 4), known, "", inserts=False)
    with pytest.raises(FiglangError, match="ends a word by the tokenizer's end of text, but it has none"):
        CausalReader(Continuation(causal_models.network("llama"), 4), known, "", inserts=True)


def test_a_word_of_any_length_must_fit_in_the_window_of_a_masked_model() -> None:
    reader = MaskedReader.__new__(MaskedReader)
    for window, around in ((None, 10**6), (100, 100 - LONGEST)):
        reader._scorer = SimpleNamespace(window=window)  # type: ignore[assignment]
        reader._check(blank("", "", ["x"]), around)
    with pytest.raises(FiglangError, match=r"s0: its prompt has 77 tokens without the answer, .* reads 100"):
        reader._check(blank("", "", ["x"]), 101 - LONGEST)
