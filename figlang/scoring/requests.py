"""What a language model is asked for and what it answers: text in, spans of tokens, their log-probabilities
out."""

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

# Texts that are tokenised in one call. What a tokenizer gives for a text takes kilobytes.
TOGETHER = 512
SURROGATE = re.compile("[\ud800-\udfff]")


class Request(NamedTuple):
    """The log-probability of `continuation` after `context` (which may be empty); spaces are part of the
    text.

    Spaces at the end of the context are scored with the continuation, as lm-evaluation-harness does: most
    tokenizers merge a space with the word behind it, and one that makes a token of it (before digits, for
    example) leaves out none of the answer.
    """

    context: str
    continuation: str

    @property
    def boundary(self) -> int:
        """Where the characters begin whose tokens are scored."""
        return len(self.context.rstrip(" "))


class RequestError(FiglangError):
    """A request that cannot be scored: `index` is its place among all, `why` the rest of the sentence that
    begins with it."""

    def __init__(self, index: int, request: Request, why: str) -> None:
        # Its last line: what stands before it are examples.
        words = (request.context + request.continuation).rstrip().rpartition("\n")[2].split()
        super().__init__(
            f"request {index} ({' '.join(words[:8])[:80]!r}{'…' if len(words) > 8 else ''}) {why}"
        )
        self.index = index


@contextmanager
def naming(items: Sequence[str]) -> Iterator[None]:
    """Within, an error about a request says first which item it is of; `items` has an id for every
    request."""
    try:
        yield
    except RequestError as error:
        raise FiglangError(f"item {items[error.index]}: {error}") from error


@dataclass(frozen=True, slots=True)
class Scored:
    """What requests were given, in their order, and what it took.

    `log_probs` has a tensor (float32, on the CPU) for each request, with a natural logarithm for each scored
    token of its continuation, to be summed or averaged by the caller; none where an endpoint refused to read
    the request.

    `tokens` is what running every request by itself would read, `read` what was read, `positions` the rows
    that met the vocabulary matrix. `fallback` is why a slower way had to be taken, or None.
    """

    log_probs: Sequence[Tensor]
    truncated: int
    tokens: int
    read: int
    positions: int
    fallback: str | None


class SpanFinder:
    """Tokenises requests, each as one string, and finds the continuation by character offset.

    A token that straddles the boundary belongs to the continuation, and so do the spaces before it. No
    special token is added.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise FiglangError(
                f"{type(tokenizer).__name__} gives no character offsets, which find the continuation's "
                "tokens; "
                "use a model folder that has a tokenizer.json"
            )
        # A copy without post-processor: that of byte-level tokenizers trims spaces from the offsets.
        self._backend = copy.deepcopy(tokenizer.backend_tokenizer)
        self._backend.post_processor = None
        self._backend.no_truncation()
        self._backend.no_padding()

    def find(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Any, int]]:
        """Every request, its `tokenizers.Encoding`, and the place of the first token of its continuation.

        Some are read, tokenised and given before the next are read.

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
        """The tokens of texts, each as a whole."""
        return (list(encoding.ids) for encoding in self._encoded(texts))

    def _encoded(self, texts: Iterable[str]) -> Iterator[Any]:
        remaining = iter(texts)
        while some := list(islice(remaining, TOGETHER)):
            yield from self._backend.encode_batch(some, add_special_tokens=False)

    def _first(self, index: int, request: Request, offsets: Sequence[tuple[int, int]]) -> int:
        boundary = request.boundary
        # With an empty context everything is continuation, also a token of no width (the space some
        # tokenizers prepend).
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

    No special token is added but what `bos` asks for (see `bos_ids`), prepended to every sequence. Without it
    the very first token of a string is never scored.

    `window` is the number of tokens the network reads (the last token of a sequence is predicted, not read);
    None means no limit. `overflow` says what happens to a longer input: `error`, or `truncate_left`, which
    drops the beginning of its context.
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
        """The tokens of every prompt by itself, followed by every ending, a text with the tokens that are
        scored for it: all endings of a prompt, then those of the next. And how many were truncated.

        Raises FiglangError like `encode`.
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
    """The ids before every string.

    Args: tokenizer: The model's tokenizer. bos: `auto`, what the tokenizer itself puts before a text; `none`;
        `add`, its bos token; or ids, separated by commas.

    Raises:
        FiglangError: `bos` is none of these, or the tokenizer has no such token.
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
    """What `bos` stands for with this tokenizer: `none`, or ids as `bos_ids` takes them."""
    return ",".join(map(str, bos_ids(tokenizer, bos))) or "none"


def _own_beginning(tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """The special tokens that the tokenizer itself puts before a text."""
    whole, plain = (
        list(tokenizer("a", add_special_tokens=special)["input_ids"]) for special in (True, False)
    )
    starts = (start for start in range(len(whole)) if whole[start : start + len(plain)] == plain)
    return whole[: next(starts, 0)]
