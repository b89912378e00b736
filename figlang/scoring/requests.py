"""What causal scoring is asked for: text in, token sequences with the span that is scored out."""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from transformers import PreTrainedTokenizerBase

from figlang.errors import FiglangError


class Request(NamedTuple):
    """The log-probability of `continuation` after `context` (which may be empty); spaces are part of the text."""

    context: str
    continuation: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token ids of context and continuation (and bos, if there is one); those from `start` (>= 1) on are scored."""

    ids: list[int]
    start: int


class RequestEncoder:
    """Tokenises requests in one call, each as one string, and finds the continuation by character offset.

    A token that straddles the boundary belongs to the continuation. No special token is added but the one that `bos`
    asks for: `none`, `add` (the tokenizer's own) or a token id, prepended to every sequence. Without one the very first
    token of a string is never scored.

    `window` is the number of tokens the network reads (the last token of a sequence is predicted, not read); None means
    no limit. `overflow` says what happens to a longer input: `error`, or `truncate_left`, which drops the beginning of
    its context.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, bos: str | int = "none", overflow: str = "error", window: int | None = None
    ) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise FiglangError(
                f"{type(tokenizer).__name__} gives no character offsets, which find the continuation's tokens; "
                "use a model folder that has a tokenizer.json"
            )
        if overflow not in ("error", "truncate_left"):
            raise FiglangError(f"overflow={overflow} is not a choice; choose one of error, truncate_left")
        # A copy without post-processor: that of byte-level tokenizers trims spaces from the offsets.
        self._backend = copy.deepcopy(tokenizer.backend_tokenizer)
        self._backend.post_processor = None
        self._backend.no_truncation()
        self._backend.no_padding()
        self._bos = _bos(tokenizer, bos)
        self._overflow = overflow
        self._window = window

    def encode(self, requests: Iterable[Request]) -> tuple[list[Tokens], int]:
        """Token sequences in the order of the requests, and how many were truncated on the left.

        Raises FiglangError that names the request if its continuation is empty, if no token of it can be scored, or if
        it is longer than the window.
        """
        asked = [Request(*request) for request in requests]
        for index, request in enumerate(asked):
            if not request.continuation:
                raise FiglangError(f"{_name(index, request)} has an empty continuation; there is nothing to score")
        encodings = self._backend.encode_batch(
            [context + continuation for context, continuation in asked], add_special_tokens=False
        )
        found = [
            self._tokens(index, request, encoding.ids, encoding.offsets)
            for index, (request, encoding) in enumerate(zip(asked, encodings, strict=True))
        ]
        cut = [self._fit(index, request, tokens) for index, (request, tokens) in enumerate(zip(asked, found, strict=True))]
        return cut, sum(len(after.ids) < len(before.ids) for before, after in zip(found, cut, strict=True))

    def _tokens(self, index: int, request: Request, ids: list[int], offsets: Sequence[tuple[int, int]]) -> Tokens:
        boundary = len(request.context)
        # With an empty context everything is continuation, also a token of no width (the space some tokenizers prepend).
        first = next((place for place, (_, end) in enumerate(offsets) if end > boundary), len(ids)) if boundary else 0
        if first == len(ids):
            raise FiglangError(f"{_name(index, request)}: its continuation {request.continuation!r} has no token of its own")
        start = max(len(self._bos) + first, 1)
        if start == len(self._bos) + len(ids):
            raise FiglangError(
                f"{_name(index, request)} is a single token, and the first token of a string has no probability; "
                "set bos=add or bos=<token id>, or give it a context"
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
            remedy = "shorten it, or set overflow=truncate_left to drop the beginning of its context"
        raise FiglangError(f"{_name(index, request)} has {read + 1} tokens, the network reads {self._window}; {remedy}")


def _bos(tokenizer: PreTrainedTokenizerBase, bos: str | int) -> list[int]:
    if bos == "none":
        return []
    if bos == "add":
        if tokenizer.bos_token_id is None:
            raise FiglangError("bos=add, but the tokenizer has no bos token; set bos=none or bos=<token id>")
        return [int(tokenizer.bos_token_id)]
    try:
        number = int(bos)
    except ValueError:
        raise FiglangError(f"bos={bos} is not a choice; choose none, add or a token id") from None
    if number not in range(len(tokenizer)):
        raise FiglangError(f"bos={bos} is no token id of this tokenizer, which has {len(tokenizer)} tokens")
    return [number]


def _name(index: int, request: Request) -> str:
    words = (request.context + request.continuation).split()
    return f"request {index} ({' '.join(words[:8])[:80]!r}{'…' if len(words) > 8 else ''})"
