"""Pseudo-log-likelihoods under a masked language model: every token is predicted from the rest of its string.

Shape letters: N sequences in a batch, T tokens, H hidden size, V vocabulary.
"""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from figlang.cpu.hasten import hastened
from figlang.errors import FiglangError, one_line
from figlang.machine import bars
from figlang.machine.shrinking import Shrinking
from figlang.scoring.requests import Request, RequestError, Scored, SpanFinder
from figlang.scoring.tree.rounding import reference
from figlang.scoring.window import window

log = logging.getLogger("figlang")
MASKINGS = ("original", "within_word_l2r")


class Cloze(NamedTuple):
    """A sequence with masks and special tokens, and the place whose token is predicted."""

    ids: tuple[int, ...]
    place: int


class MaskedScorer:
    """Scores requests with an encoder that has a masked-LM head.

    Each token of a continuation is masked and predicted from the context and the other tokens of the
    continuation, on both sides. The special tokens around a string are never scored.

    Every distinct masked sequence is read once: options that differ in one token share the sequence in which
    it is masked. The vocabulary matrix is applied only to the place that is predicted. A probe finds whether
    the head needs whole sequences. If it does, it gets them; the results are the same. A network in bf16 is
    run in bf16, and log-probabilities are computed in float32. Dropout is off.

    Args:
        network: An encoder with a masked-LM head.
        tokenizer: Its tokenizer, which also decides where words begin.
        masking: `original` masks only the predicted token (Salazar et al. 2020, arXiv 1910.14659).
            `within_word_l2r` also masks the later tokens of its word, so that the pieces of a rare word do
            not reveal each other (Kauf & Ivanova 2023, arXiv 2305.10588).
        batch_tokens: The most tokens of a batch with its padding. A longer sequence is a batch of its own.
        logits: The most logits at a time.

    Raises:
        FiglangError: `masking` is unknown, or the tokenizer has no mask token.
    """

    def __init__(
        self,
        network: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        masking: str = "original",
        batch_tokens: int | None = None,
        logits: int = 2**23,
    ) -> None:
        if masking not in MASKINGS:
            raise FiglangError(f"masking={masking} is not a choice; choose one of {', '.join(MASKINGS)}")
        self.spans = SpanFinder(tokenizer)
        if tokenizer.mask_token_id is None:
            raise FiglangError(
                f"{type(tokenizer).__name__} has no mask token, which masked language models need"
            )
        self.mask = int(tokenizer.mask_token_id)
        self._pad = int(tokenizer.pad_token_id or 0)
        self.before, self.after = _around(tokenizer)
        self._within_word = masking == "within_word_l2r"
        self._network = network.eval()
        self.window = window(network)
        self._vocabulary = network.get_input_embeddings().weight.shape[0]
        tokens = batch_tokens or (1024 if network.device.type == "cpu" else 16384)
        self._sizes = Shrinking(tokens, min(tokens, 64), "tokens are read")
        self._logits = logits
        self._fallback = self._probe()

    @torch.inference_mode()
    def score(self, requests: Iterable[Request], progress: bool = False) -> Scored:
        """The log-probabilities (in nats) of the tokens of every continuation, in the order of the requests.

        Raises:
            RequestError: A continuation is empty or has no token, or a string is longer than the window.
        """
        if self._fallback:
            log.info("masked scoring computes the logits of every token: %s", self._fallback)
        # The tokens that are predicted from each cloze, and the place of each in `values`.
        answers: dict[Cloze, dict[int, int]] = {}
        spans: list[list[int]] = []
        count = alone = 0
        for asked in self._clozes(Request(*request) for request in requests):
            spans.append([])
            for cloze, token in asked:
                tokens = answers.setdefault(cloze, {})
                if token not in tokens:
                    tokens[token] = count
                    count += 1
                spans[-1].append(tokens[token])
                alone += len(cloze.ids)
        values = torch.empty(count)
        bar = bars.progress(progress)
        with bar:
            task = bar.add_task("scoring", total=len(answers))
            for batch, logits_NV in self.read(answers):
                rows, tokens_, places = zip(
                    *((row, *answer) for row, cloze in enumerate(batch) for answer in answers[cloze].items()),
                    strict=True,
                )
                values[list(places)] = (logits_NV[rows, tokens_] - logits_NV.logsumexp(-1)[list(rows)]).cpu()
                bar.advance(task, len(batch))
        read = sum(len(cloze.ids) for cloze in answers)
        return Scored([values[span] for span in spans], 0, alone, read, len(answers), self._fallback)

    @torch.inference_mode()
    def read(self, clozes: Iterable[Cloze]) -> Iterator[tuple[list[Cloze], Tensor]]:
        """Read clozes. Yields each batch with the logits (N, V) of its predicted places in float32."""
        self._network.eval()
        order = sorted(clozes, key=lambda cloze: -len(cloze.ids))
        start = 0

        def run(tokens: int) -> tuple[list[Cloze], Tensor]:
            batch = self._batch(order, start, tokens)
            return batch, self._run(batch, whole=self._fallback is not None).float()

        with hastened(self._network):
            while start < len(order):
                batch, logits_NV = self._sizes(run)
                yield batch, logits_NV
                start += len(batch)

    def _clozes(self, requests: Iterable[Request]) -> Iterator[list[tuple[Cloze, int]]]:
        """For every request, each token of its continuation with the cloze that predicts it."""
        for index, (request, encoding, first) in enumerate(self.spans.find(requests)):
            ids = (*self.before, *encoding.ids, *self.after)
            if self.window is not None and len(ids) > self.window:
                raise RequestError(
                    index,
                    request,
                    f"has {len(ids)} tokens with the special ones, the network reads {self.window}; "
                    "shorten it, or use a model with a longer window",
                )
            yield [
                (self._cloze(ids, encoding.word_ids, place), encoding.ids[place])
                for place in range(first, len(encoding.ids))
            ]

    def _cloze(self, ids: tuple[int, ...], words: list[int | None], place: int) -> Cloze:
        masked = 1
        if self._within_word and words[place] is not None:
            masked = sum(1 for _ in takewhile(lambda word: word == words[place], words[place:]))
        start = len(self.before) + place
        return Cloze((*ids[:start], *[self.mask] * masked, *ids[start + masked :]), start)

    def _batch(self, clozes: list[Cloze], start: int, tokens: int) -> list[Cloze]:
        """Clozes from `start` on, which are sorted from the longest to the shortest, within the budgets."""
        width = len(clozes[start].ids)
        rows = self._logits // (self._vocabulary * (width if self._fallback else 1))
        return clozes[start : start + max(min(tokens // width, rows), 1)]

    def _run(self, batch: list[Cloze], whole: bool) -> Tensor:
        """Logits (N, V) at the predicted places. If `whole` is set, the head computes all places."""
        width = max(len(cloze.ids) for cloze in batch)
        ids_NT = torch.stack(
            [pad(torch.tensor(cloze.ids), (0, width - len(cloze.ids)), value=self._pad) for cloze in batch]
        )
        mask_NT = (torch.arange(width) < torch.tensor([len(cloze.ids) for cloze in batch])[:, None]).long()
        inputs = {
            "input_ids": ids_NT.to(self._network.device),
            "attention_mask": mask_NT.to(self._network.device),
        }
        places_N = torch.tensor([cloze.place for cloze in batch], device=self._network.device)
        if whole:
            return _at(self._network(**inputs).logits, places_N)
        with _picking(self._network.base_model, places_N):
            logits_N1V: Tensor = self._network(**inputs).logits
        return logits_N1V[:, 0]

    @torch.inference_mode()
    def _probe(self) -> str | None:
        """Why the head needs whole sequences; None if single states give it the same logits."""
        if self._network.base_model is self._network:
            return "its body and its head cannot be told apart"
        ids = tuple(
            (self._vocabulary // 4 + place * max(self._vocabulary // 40, 1)) % self._vocabulary
            for place in range(8)
        )
        batch = [Cloze(ids, 5), Cloze(ids[:6], 2)]
        expected = reference(self._network, lambda: self._run(batch, whole=True))
        try:
            found = expected.differs(self._run(batch, whole=False))
        except Exception as error:  # heads that want a sequence fail with a dozen types
            return f"its head does not take single states ({type(error).__name__}: {one_line(error)})"
        return f"its head makes something else of single states ({found})" if found else None


def _at(states_NTX: Tensor, places_N: Tensor) -> Tensor:
    return states_NTX[torch.arange(len(places_N), device=states_NTX.device), places_N.to(states_NTX.device)]


@contextmanager
def _picking(body: nn.Module, places_N: Tensor) -> Iterator[None]:
    """While the block runs, the head gets only one state of each sequence, (N, 1, H).

    The forward of the network calls the head, so this works with every kind of head.
    """

    def pick(module: nn.Module, inputs: Any, output: Any) -> Any:
        output.last_hidden_state = _at(output[0], places_N)[:, None]
        return output

    hook = body.register_forward_hook(pick)
    try:
        yield
    finally:
        hook.remove()


def _around(tokenizer: PreTrainedTokenizerBase) -> tuple[list[int], list[int]]:
    """The special tokens that the tokenizer puts before and after a string."""
    encoding = tokenizer("a", return_special_tokens_mask=True)
    ids, special = encoding["input_ids"], encoding["special_tokens_mask"]
    before = sum(1 for _ in takewhile(bool, special))
    after = sum(1 for _ in takewhile(bool, reversed(special[before:])))
    return ids[:before], ids[len(ids) - after :]
