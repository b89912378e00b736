"""From items to tensors: wording, tokenising once, collating.

Shape letters: B items, C options, N sequences in a batch, T tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from figlang.errors import FiglangError
from figlang.text.tidying import tidy
from figlang.types import COSINE_OF_MEANS, Inference, Item, SentenceVectors

# Items that are tokenised in one call. What a tokenizer returns holds some kilobytes a sequence besides the
# token ids.
AT_ONCE = 1024


@dataclass
class Batch:
    """Sequences of several items, and where each option's score is read.

    `inputs` are the network's arguments, (N, T) each. `option_rows` (B, C) is the sequence of each option
    (pair, dual) or its place among the outputs (joint, nli), -1 where an item has fewer than C options.
    `context_rows` (B,) is the sequence of each context (dual only). `gold` (B,) is -1 where it is hidden.
    `positions` are the items' indices.
    """

    inputs: dict[str, Tensor]
    option_rows: Tensor
    context_rows: Tensor | None
    gold: Tensor
    positions: list[int]


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids (and segment ids, a byte each, if the network takes them) of one item's sequences; see Batch
    for the rows."""

    position: int
    gold: int
    sequences: tuple[list[int], ...]
    segments: tuple[bytes, ...] | None
    option_rows: tuple[int, ...]
    context_row: int | None

    @property
    def longest(self) -> int:
        return max(map(len, self.sequences))

    @property
    def tokens(self) -> int:
        """Tokens without padding."""
        return sum(map(len, self.sequences))


def word(text: str, style: str) -> str:
    """A sentence as the network sees it. `clean`: see `tidy`; `raw`: as is."""
    return text if style == "raw" else tidy(text)


class Encoder:
    """Words and tokenises items for one input format.

    - `pair`: one sequence per option, `[CLS] context [SEP] option [SEP]` (what the numbers of Liu et al. 2022
      were made with).
    - `joint`: one sequence, `[CLS] context [SEP] option 1 [SEP] option 2 [SEP]` (what their §4.2 prints).
      Options enter in alphabetical order, so that the order they are listed in changes no score.
    - `dual`: context and options as sequences of their own, with the prompt of `vectors` before each.
    - `nli`: one sequence, `[CLS] premise [SEP] hypothesis [SEP]`, with an output for each class.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        format: str,
        text: str,
        max_length: int,
        vectors: SentenceVectors = COSINE_OF_MEANS,
    ) -> None:
        # A sequence holds the tokenizer's special tokens and one token of each text at least.
        texts = 1 if format == "dual" else 2
        least = tokenizer.num_special_tokens_to_add(pair=texts == 2) + texts
        if max_length < least:
            raise FiglangError(
                f"max_length={max_length} leaves no room for a text: format {format} needs {least} tokens at "
                "least; use 80 or so"
            )
        self.tokenizer = tokenizer
        self.format = format
        self.text = text
        self.max_length = max_length
        self.vectors = vectors

    def encode(self, items: Sequence[Item]) -> tuple[list[Encoded], int]:
        """All items, tokenised, and the number of sequences that were truncated to `max_length`."""
        encoded: list[Encoded] = []
        truncated = 0
        for start in range(0, len(items), AT_ONCE):
            some, cut = self._encode(items[start : start + AT_ONCE], start)
            encoded += some
            truncated += cut
        return encoded, truncated

    def _encode(self, items: Sequence[Item], first: int) -> tuple[list[Encoded], int]:
        """Items that are tokenised in one call; `first` is the position of the first of them."""
        firsts: list[str] = []
        seconds: list[str] = []
        for item in items:
            if len(item.options) < 2:
                raise FiglangError(
                    f"item {item.id} has {len(item.options)} option; a choice needs two or more"
                )
            style = "raw" if item.cut else self.text
            context, options = word(item.context, style), [word(option, style) for option in item.options]
            if isinstance(item, Inference):
                firsts.append(context)
                seconds.append(word(item.hypothesis, style))
            elif self.format == "pair":
                firsts += [context] * len(options)
                seconds += options
            elif self.format == "joint":
                firsts.append(context)
                seconds.append(f" {self._separator()} ".join(options[index] for index in _alphabetical(item)))
            else:
                firsts += [self._sentence(text) for text in (context, *options)]
        whole = self.tokenizer(firsts, seconds or None, verbose=False)
        truncated = sum(len(ids) > self.max_length for ids in whole["input_ids"])
        if truncated:
            whole = self.tokenizer(
                firsts, seconds or None, truncation="longest_first", max_length=self.max_length
            )
        ids, types = whole["input_ids"], whole.get("token_type_ids")
        encoded = []
        start = 0
        for position, item in enumerate(items, start=first):
            count = len(item.options)
            stop = start + {"pair": count, "joint": 1, "dual": count + 1, "nli": 1}[self.format]
            if self.format == "joint":
                order = _alphabetical(item)
                rows = tuple(order.index(index) for index in range(count))
            else:
                rows = tuple(range(1, count + 1)) if self.format == "dual" else tuple(range(count))
            encoded.append(
                Encoded(
                    position,
                    -1 if item.gold is None else item.gold,
                    tuple(ids[start:stop]),
                    tuple(map(bytes, types[start:stop])) if types is not None else None,
                    rows,
                    0 if self.format == "dual" else None,
                )
            )
            start = stop
        return encoded, truncated

    def _separator(self) -> str:
        found: str | None = self.tokenizer.sep_token or self.tokenizer.eos_token
        if found is None:
            raise FiglangError(
                "format=joint needs a token between the options, and this tokenizer has none; take pair or "
                "dual"
            )
        return found

    def _sentence(self, text: str) -> str:
        whole = self.vectors.prompt + text
        return whole.lower() if self.vectors.lower else whole

    def collate(self, batch: Sequence[Encoded]) -> Batch:
        """Pad to the longest sequence of the batch."""
        sequences = [ids for example in batch for ids in example.sequences]
        inputs = {"input_ids": _pad(sequences, padding(self.tokenizer))}
        inputs["attention_mask"] = _pad([[1] * len(ids) for ids in sequences], 0)
        if batch[0].segments is not None:
            inputs["token_type_ids"] = _pad(
                [types for example in batch for types in example.segments or ()], 0
            )
        options = torch.full((len(batch), max(len(example.option_rows) for example in batch)), -1)
        contexts = []
        offset = 0
        for index, example in enumerate(batch):
            shift = 0 if self.format in ("joint", "nli") else offset
            options[index, : len(example.option_rows)] = torch.tensor(example.option_rows) + shift
            if example.context_row is not None:
                contexts.append(offset + example.context_row)
            offset += len(example.sequences)
        return Batch(
            inputs,
            options,
            torch.tensor(contexts) if contexts else None,
            torch.tensor([example.gold for example in batch]),
            [example.position for example in batch],
        )


def padding(tokenizer: PreTrainedTokenizerBase) -> int:
    """The token that rows are filled up with; the mask hides it, so that any does where a tokenizer has
    none."""
    return tokenizer.pad_token_id or 0


def _alphabetical(item: Item) -> list[int]:
    return sorted(range(len(item.options)), key=lambda index: item.options[index])


def _pad(rows: Sequence[Sequence[int]], value: int) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([[*row, *[value] * (width - len(row))] for row in rows])
