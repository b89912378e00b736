"""Requests to a language model (texts), their tokens, and the log-probabilities that come back."""

import copy
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from torch import Tensor
from transformers import PreTrainedTokenizerBase

from figlang.errors import FiglangError
from figlang.scoring.flat import Sequences, Tokens

# Texts that are tokenised in one call. The encoding of one text takes kilobytes.
TOGETHER = 512
SURROGATE = re.compile("[\ud800-\udfff]")


class Request(NamedTuple):
    """Asks for the log-probability of `continuation` after `context`, which may be empty.

    Spaces at the end of the context are scored with the continuation, as lm-evaluation-harness does. Most
    tokenizers merge a space with the word behind it. Some make a token of the space (before digits, for
    example), and this token too is part of the answer.
    """

    context: str
    continuation: str

    @property
    def boundary(self) -> int:
        """The place of the first character whose token is scored."""
        return len(self.context.rstrip(" "))


class RequestError(FiglangError):
    """A request that cannot be scored.

    Args:
        index: The place of the request among all requests.
        request: The request. The message begins with the last line of its text.
        why: The end of the message, for example "has an empty continuation".
    """

    def __init__(self, index: int, request: Request, why: str) -> None:
        # The last line only, because the lines before it are examples.
        words = (request.context + request.continuation).rstrip().rpartition("\n")[2].split()
        super().__init__(
            f"request {index} ({' '.join(words[:8])[:80]!r}{'…' if len(words) > 8 else ''}) {why}"
        )
        self.index = index


@contextmanager
def naming(items: Sequence[str]) -> Iterator[None]:
    """Put the id of the item before the message of a RequestError that is raised in the block.

    Args:
        items: The id of the item of each request.
    """
    try:
        yield
    except RequestError as error:
        raise FiglangError(f"item {items[error.index]}: {error}") from error


@dataclass(frozen=True, slots=True)
class Scored:
    """The log-probabilities of requests, in the order of the requests, and the work that they took.

    Attributes:
        log_probs: For each request, one natural logarithm per scored token of its continuation, (T,), float32
            on the CPU. It is empty if an endpoint refused to read the request.
        truncated: How many requests were truncated on the left.
        tokens: How many tokens the network would read if every request ran by itself.
        read: How many tokens the network read.
        positions: How many states were multiplied by the vocabulary matrix.
        fallback: Why a slower way had to be taken, or None.
    """

    log_probs: Sequence[Tensor]
    truncated: int
    tokens: int
    read: int
    positions: int
    fallback: str | None


class SpanFinder:
    """Tokenises requests, each as one string, and finds the continuation by character offset.

    A token with characters of both sides belongs to the continuation. Spaces before the continuation belong
    to it too. No special token is added.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise FiglangError(
                f"{type(tokenizer).__name__} gives no character offsets, and without them the tokens of an "
                "answer cannot be found; use a model folder that has a tokenizer.json"
            )
        # The copy has no post-processor, because that of byte-level tokenizers trims spaces from the offsets.
        self._backend = copy.deepcopy(tokenizer.backend_tokenizer)
        self._backend.post_processor = None
        self._backend.no_truncation()
        self._backend.no_padding()

    def find(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Any, int]]:
        """Every request, its `tokenizers.Encoding`, and the place of the first token of its continuation.

        Requests are tokenised in parts. A part is given before the next one is taken.

        Raises FiglangError that names the request whose continuation is empty or has no token, or that holds
        half a character.
        """
        index = 0
        remaining = iter(requests)
        while asked := list(islice(remaining, TOGETHER)):
            for place, request in enumerate(asked, start=index):
                if not request.continuation:
                    raise RequestError(place, request, "has an empty continuation; there is nothing to score")
                if (half := SURROGATE.search(request.context + request.continuation)) is not None:
                    raise RequestError(
                        place, request, f"holds {half[0]!r}, half of a character; write the whole one"
                    )
            texts = (context + continuation for context, continuation in asked)
            for request, encoding in zip(asked, self._encoded(texts), strict=True):
                yield request, encoding, self._first(index, request, encoding.offsets)
                index += 1

    def ids(self, texts: Iterable[str]) -> Iterator[list[int]]:
        """The token ids of each text."""
        return (list(encoding.ids) for encoding in self._encoded(texts))

    def _encoded(self, texts: Iterable[str]) -> Iterator[Any]:
        remaining = iter(texts)
        while some := list(islice(remaining, TOGETHER)):
            yield from self._backend.encode_batch(some, add_special_tokens=False)

    def _first(self, index: int, request: Request, offsets: Sequence[tuple[int, int]]) -> int:
        boundary = request.boundary
        # If the context is empty, every token belongs to the continuation. So does a token without
        # characters: some tokenizers prepend a space.
        first = (
            next((place for place, (_, end) in enumerate(offsets) if end > boundary), len(offsets))
            if boundary
            else 0
        )
        if first == len(offsets):
            raise RequestError(
                index, request, f"has no token of its own for its continuation {request.continuation!r}"
            )
        return first


class RequestEncoder:
    """The token sequences that a causal network reads (see SpanFinder).

    The only special tokens are those of `bos`. Without them the first token of a string is never scored.

    Args:
        tokenizer: The tokenizer of the network.
        bos: The tokens before every sequence (see `bos_ids`).
        overflow: `error` refuses an input that is longer than the window. `truncate_left` drops the beginning
            of its context.
        window: How many tokens the network reads; None if there is no limit. The last token of a sequence is
            predicted and not read.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        bos: str | int = "none",
        overflow: str = "error",
        window: int | None = None,
    ) -> None:
        self.spans = SpanFinder(tokenizer)
        if overflow not in ("error", "truncate_left"):
            raise FiglangError(f"overflow={overflow} is not a choice; choose one of error, truncate_left")
        self._bos = bos_ids(tokenizer, bos)
        self._overflow = overflow
        self._window = window

    def encode(self, requests: Iterable[Request]) -> tuple[Sequences, int]:
        """Token sequences in the order of the requests, and how many were truncated on the left.

        Requests are taken one after another, and none is kept.

        Raises FiglangError that names the request if its continuation is empty, if no token of it can be
        scored, or if it is longer than the window.
        """
        asked = (Request(*request) for request in requests)
        return self._fitted(
            (request, self._tokens(index, request, encoding.ids, first))
            for index, (request, encoding, first) in enumerate(self.spans.find(asked))
        )

    def extend(
        self, prompts: Sequence[str], endings: Sequence[tuple[str, tuple[int, ...]]]
    ) -> tuple[Sequences, int]:
        """Join every prompt with every ending.

        Args:
            prompts: Texts. Each is tokenised by itself.
            endings: Texts with their token ids, which are scored.

        Returns:
            The sequences, and how many of them were truncated on the left. All endings of the first prompt
                come first, then those of the next prompt.

        Raises:
            FiglangError: As for `encode`, or a prompt is empty and there is no bos.
        """
        return self._fitted(self._extended(prompts, endings))

    def _extended(
        self, prompts: Sequence[str], endings: Sequence[tuple[str, tuple[int, ...]]]
    ) -> Iterator[tuple[Request, Tokens]]:
        for prompt, ids in zip(prompts, self.spans.ids(prompts), strict=True):
            before = [*self._bos, *ids]
            if not before:
                raise FiglangError("an empty prompt cannot be continued without a bos; set model.bos")
            for text, tokens in endings:
                yield Request(prompt, text), Tokens([*before, *tokens], len(before))

    def _fitted(self, encoded: Iterable[tuple[Request, Tokens]]) -> tuple[Sequences, int]:
        sequences, truncated = Sequences(), 0
        for index, (request, tokens) in enumerate(encoded):
            fitting = self._fit(index, request, tokens)
            truncated += len(fitting.ids) < len(tokens.ids)
            sequences.append(*fitting)
        return sequences, truncated

    def _tokens(self, index: int, request: Request, ids: list[int], first: int) -> Tokens:
        start = max(len(self._bos) + first, 1)
        if start == len(self._bos) + len(ids):
            raise RequestError(
                index,
                request,
                "is a single token, and the first token of a string has no probability; "
                "set scoring.bos=add or scoring.bos=<token id>, or give it a context",
            )
        return Tokens(self._bos + ids, start)

    def _fit(self, index: int, request: Request, tokens: Tokens) -> Tokens:
        read = len(tokens.ids) - 1
        if self._window is None or read <= self._window:
            return tokens
        # The first scored token needs one token before it.
        spare = tokens.start - max(len(self._bos), 1)
        if self._overflow == "truncate_left" and read - self._window <= spare:
            keep = len(self._bos)
            drop = read - self._window
            return Tokens(tokens.ids[:keep] + tokens.ids[keep + drop :], tokens.start - drop)
        if read - self._window > spare:
            remedy = "its continuation alone is too long: shorten it, or use a model with a longer window"
        else:
            remedy = "shorten it, or set scoring.overflow=truncate_left to drop the beginning of its context"
        raise RequestError(
            index, request, f"has {read + 1} tokens, the network reads {self._window}; {remedy}"
        )


def bos_ids(tokenizer: PreTrainedTokenizerBase, bos: str | int) -> list[int]:
    """The token ids that stand before every string.

    Args:
        tokenizer: The tokenizer of the model.
        bos: `auto` for the tokens that the tokenizer itself puts before a text, `none`, `add` for its bos
            token, or ids with commas between them.

    Raises:
        FiglangError: `bos` is not one of these, or the tokenizer has no such token.
    """
    if bos == "none":
        return []
    if bos == "auto":
        return _own_beginning(tokenizer)
    if bos == "add":
        if tokenizer.bos_token_id is None:
            raise FiglangError(
                "bos=add, but the tokenizer has no bos token; set scoring.bos=none or scoring.bos=<token id>"
            )
        return [int(tokenizer.bos_token_id)]
    try:
        numbers = [int(number) for number in str(bos).split(",")]
    except ValueError:
        raise FiglangError(f"bos={bos} is not a choice; choose auto, none, add or a token id") from None
    if any(number not in range(len(tokenizer)) for number in numbers):
        raise FiglangError(
            f"bos={bos} is not a token id of this tokenizer, which has {len(tokenizer)} tokens"
        )
    return numbers


def resolved_bos(tokenizer: PreTrainedTokenizerBase, bos: str) -> str:
    """Replace a word such as `auto` by the ids that it means for this tokenizer, or by `none`."""
    return ",".join(map(str, bos_ids(tokenizer, bos))) or "none"


def _own_beginning(tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """The special tokens that the tokenizer itself puts before a text."""
    whole, plain = (
        list(tokenizer("a", add_special_tokens=special)["input_ids"]) for special in (True, False)
    )
    starts = (start for start in range(len(whole)) if whole[start : start + len(plain)] == plain)
    return whole[: next(starts, 0)]
