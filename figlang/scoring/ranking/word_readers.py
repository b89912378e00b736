"""Causal and masked language models that read blanks: log-probabilities of the tokens of words there."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from figlang.errors import FiglangError
from figlang.scoring.masked import Cloze, MaskedScorer
from figlang.scoring.ranking import infilling
from figlang.scoring.ranking.word_search import Blanks, Node
from figlang.scoring.requests import Request, SpanFinder
from figlang.scoring.tree.continuing import Chunk, Continuation
from figlang.types import Blank

TOGETHER = 16  # number of blanks of a masked model that share batches
LONGEST = 24  # the most tokens of a word; there must be space for them at a blank


class CausalReader:
    """Reads a word and its end, token by token.

    The end is the quotation mark that closes the prompt's, or, for a model that fills in, its end of text.
    Without an end, beginnings of other words (`employ`, `employed`) would take their probability.
    """

    by_length = False

    def __init__(
        self, continuation: Continuation, tokenizer: PreTrainedTokenizerBase, bos: str | int, inserts: bool
    ) -> None:
        self._continuation, self._tokenizer, self._bos, self._inserts = continuation, tokenizer, bos, inserts
        if inserts and tokenizer.eos_token_id is None:
            raise FiglangError(
                "form=insert ends a word by the tokenizer's end of text, but it has none; use form=quote"
            )

    def pieces(self, words: Sequence[str]) -> list[tuple[int, ...]]:
        spans = SpanFinder(self._tokenizer)
        before, after = ("*", "") if self._inserts else ('be "', '"')
        (start,) = spans.ids([before])
        end = (int(self._tokenizer.eos_token_id),) if self._inserts else ()
        encoded = spans.ids(f"{before}{word}{after}" for word in words)
        pieces = [
            (*ids[len(start) :], *end) if ids[: len(start)] == start and ids != start else ()
            for ids in encoded
        ]
        return [ids if len(ids) <= LONGEST else () for ids in pieces]

    def blanks(self, blanks: Sequence[Blank]) -> Iterator[Blanks]:
        for chunk in self._continuation.chunks(infilling.encode(self._tokenizer, blanks, self._bos)):
            yield _Read(chunk)


class _Read:
    def __init__(self, chunk: Chunk) -> None:
        self.numbers = chunk.prompts
        self._chunk = chunk
        self._first_RV = chunk.logits.log_softmax(-1)

    def log_probs(self, asked: Sequence[tuple[int, Node]]) -> list[list[float]]:
        values: list[list[float]] = [[] for _ in asked]
        later = [place for place, (_, node) in enumerate(asked) if node.tokens]
        for place, (row, node) in enumerate(asked):
            if not node.tokens:
                values[place] = _at(self._first_RV[row], node)
        places = iter(later)
        for logits_WV in (
            self._chunk.after([(asked[place][0], asked[place][1].tokens) for place in later]) if later else ()
        ):
            for values_V in logits_WV.log_softmax(-1):
                place = next(places)
                values[place] = _at(values_V, asked[place][1])
        return values


class MaskedReader:
    """Reads a blank with as many masks as a word has tokens, filled from left to right.

    Each token is predicted from the sentence, the word's earlier tokens, and masks in the place of its later
    tokens. So the pieces of a rare word do not reveal each other (Kauf & Ivanova 2023, arXiv 2305.10588).
    Words of different lengths are compared by their sums, each given its number of masks.
    """

    by_length = True

    def __init__(self, scorer: MaskedScorer, tokenizer: PreTrainedTokenizerBase) -> None:
        self._scorer, self._unknown = scorer, tokenizer.unk_token_id

    def pieces(self, words: Sequence[str]) -> list[tuple[int, ...]]:
        cut = [self._cut("*", word, "*")[1] for word in words]
        return [() if self._unknown in ids or len(ids) > LONGEST else ids for ids in cut]

    def blanks(self, blanks: Sequence[Blank]) -> Iterator[Blanks]:
        for start in range(0, len(blanks), TOGETHER):
            numbers = list(range(start, min(start + TOGETHER, len(blanks))))
            sides = []
            for number in numbers:
                before, _, after = self._cut(blanks[number].before, "a", blanks[number].after)
                sides.append(((*self._scorer.before, *before), (*after, *self._scorer.after)))
                self._check(blanks[number], sum(map(len, sides[-1])))
            yield _Masked(numbers, sides, self._scorer)

    def _cut(
        self, before: str, word: str, after: str
    ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """The tokens before a word, of the word, and after it."""
        ((_, encoding, _),) = self._scorer.spans.find([Request(before, word + after)])
        # A space token is not masked: it stays with the text before the word.
        first = (
            next(place for place, (_, end) in enumerate(encoding.offsets) if end > len(before))
            if before
            else 0
        )
        end = len(before) + len(word)
        last = next(
            (place for place, (start, _) in enumerate(encoding.offsets) if place > first and start >= end),
            len(encoding.ids),
        )
        ids = tuple(encoding.ids)
        return ids[:first], ids[first:last], ids[last:]

    def _check(self, blank: Blank, around: int) -> None:
        window = self._scorer.window
        if window is not None and around + LONGEST > window:
            raise FiglangError(
                f"{blank.item.id}: its prompt has {around} tokens without the answer, and the network "
                f"reads {window}; use a model with a longer window"
            )


class _Masked:
    def __init__(
        self,
        numbers: list[int],
        sides: Sequence[tuple[tuple[int, ...], tuple[int, ...]]],
        scorer: MaskedScorer,
    ) -> None:
        self.numbers = numbers
        self._sides, self._scorer = sides, scorer

    def log_probs(self, asked: Sequence[tuple[int, Node]]) -> list[list[float]]:
        clozes = [self._cloze(row, node) for row, node in asked]
        wanted: dict[Cloze, list[int]] = {}
        for place, cloze in enumerate(clozes):
            wanted.setdefault(cloze, []).append(place)
        values: list[list[float]] = [[] for _ in asked]
        for batch, logits_NV in self._scorer.read(wanted):
            for cloze, values_V in zip(batch, logits_NV.log_softmax(-1), strict=True):
                for place in wanted[cloze]:
                    values[place] = _at(values_V, asked[place][1])
        return values

    def _cloze(self, row: int, node: Node) -> Cloze:
        before, after = self._sides[row]
        masks = (self._scorer.mask,) * (node.length - len(node.tokens))
        return Cloze((*before, *node.tokens, *masks, *after), len(before) + len(node.tokens))


def _at(log_probs_V: Tensor, node: Node) -> list[float]:
    tokens = torch.tensor(list(node.children), device=log_probs_V.device)
    values: list[float] = log_probs_V[tokens].tolist()
    return values
