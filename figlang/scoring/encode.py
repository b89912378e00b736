"""From items to tensors: wording, tokenising once, collating.

Shape letters: B items, C options, N sequences in a batch, T tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from figlang.errors import FiglangError
from figlang.scoring.layouts import layout
from figlang.scoring.targets import table
from figlang.text.tidying import tidy
from figlang.types import COSINE_OF_MEANS, Item, SentenceVectors

# The number of items that are tokenised in one call. A tokenizer returns some kilobytes for each sequence
# besides the token ids.
AT_ONCE = 1024


@dataclass
class Batch:
    """Sequences of several items, and where the score of each option is read.

    Attributes:
        inputs: The arguments of the network, (N, T) each.
        option_rows: The sequence of each option (pair, dual) or its place among the outputs (joint, nli),
            (B, C); -1 if an item has fewer than C options.
        context_rows: The sequence of each context, (B,); None for formats other than dual.
        gold: The right option, (B,); -1 if it is hidden.
        positions: The indices of the items.
        teacher: The probabilities that the options should get, (B, C); see `targets.table`.
    """

    inputs: dict[str, Tensor]
    option_rows: Tensor
    context_rows: Tensor | None
    gold: Tensor
    positions: list[int]
    teacher: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Encoded:
    """The token ids of one item's sequences, and their segment ids (a byte each) if the network takes them.

    The rows are those of Batch. `teacher` has a probability for each option, or is empty.
    """

    position: int
    gold: int
    sequences: tuple[list[int], ...]
    segments: tuple[bytes, ...] | None
    option_rows: tuple[int, ...]
    context_row: int | None
    teacher: tuple[float, ...] = ()

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
    """Words and tokenises items for one input format (see figlang/scoring/layouts.py).

    Args:
        tokenizer: The network's.
        format: `pair`, `joint`, `dual` or `nli`.
        text: How texts are worded, see `word`.
        max_length: The longest sequence in tokens.
        vectors: How a dual encoder words its sentences.
        shares: Whether a sequence that several items of a batch have is read once. Dropout is then drawn once
            for all of them.

    Raises:
        FiglangError: `max_length` leaves no room for a token of each text.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        format: str,
        text: str,
        max_length: int,
        vectors: SentenceVectors = COSINE_OF_MEANS,
        shares: bool = True,
    ) -> None:
        self.layout = layout(format, tokenizer, vectors)
        # A sequence holds the tokenizer's special tokens and one token of each text at least.
        texts = self.layout.texts_at_once
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
        self.shares = shares

    @property
    def reads_nothing(self) -> bool:
        """Whether an empty context makes a sequence that has tokens, so that the context can be hidden."""
        return self.layout.context_row is None or bool(self.tokenizer("")["input_ids"])

    def encode(self, items: Sequence[Item]) -> tuple[list[Encoded], int]:
        """Tokenise items, and count the sequences that were truncated to `max_length`."""
        encoded: list[Encoded] = []
        truncated = 0
        for start in range(0, len(items), AT_ONCE):
            some, cut = self._encode(items[start : start + AT_ONCE], start)
            encoded += some
            truncated += cut
        return encoded, truncated

    def encode_alone(self, texts: Sequence[tuple[str, bool]]) -> list[Encoded]:
        """Tokenise texts whose vectors are asked for.

        An item has two options or more, so each text is the context and the options of one. If `shares` is
        set, the three are read once.

        Args:
            texts: The texts, each with whether it is read as it stands.
        """
        items = [Item("", "", text, (text, text), None, cut=cut) for text, cut in texts]
        return self.encode(items)[0]

    def _encode(self, items: Sequence[Item], first: int) -> tuple[list[Encoded], int]:
        """Tokenise items in one call; `first` is the position of the first item."""
        sequences = [self._texts(item) for item in items]
        ids, types, truncated = self._tokenised([texts for some in sequences for texts in some])
        encoded = []
        start = 0
        for position, (item, some) in enumerate(zip(items, sequences, strict=True), start=first):
            stop = start + len(some)
            encoded.append(
                Encoded(
                    position,
                    -1 if item.gold is None else item.gold,
                    tuple(ids[start:stop]),
                    tuple(map(bytes, types[start:stop])) if types is not None else None,
                    self.layout.option_rows(item),
                    self.layout.context_row,
                )
            )
            start = stop
        return encoded, truncated

    def _texts(self, item: Item) -> list[tuple[str, ...]]:
        if len(item.options) < 2:
            raise FiglangError(f"item {item.id} has {len(item.options)} option; a choice needs two or more")
        style = "raw" if item.cut else self.text
        return self.layout.sequences(item, lambda text: word(text, style))

    def _tokenised(self, sequences: Sequence[tuple[str, ...]]) -> tuple[Any, Any, int]:
        """Token ids and segment ids (None if the network takes none), and how many sequences were cut."""
        columns = [list(texts) for texts in zip(*sequences, strict=True)]
        whole = self.tokenizer(*columns, verbose=False)
        truncated = sum(len(ids) > self.max_length for ids in whole["input_ids"])
        if truncated:
            whole = self.tokenizer(*columns, truncation="longest_first", max_length=self.max_length)
        return whole["input_ids"], whole.get("token_type_ids"), truncated

    def collate(self, batch: Sequence[Encoded]) -> Batch:
        """Pad to the longest sequence of the batch. If `shares` is set, equal sequences share one row."""
        places = [(example, place) for example in batch for place in range(len(example.sequences))]
        rows, row_of = self._distinct(places)
        inputs = {
            "input_ids": _pad([example.sequences[place] for example, place in rows], padding(self.tokenizer))
        }
        inputs["attention_mask"] = _pad([[1] * len(example.sequences[place]) for example, place in rows], 0)
        if batch[0].segments is not None:
            segments = [example.segments[place] for example, place in rows if example.segments is not None]
            inputs["token_type_ids"] = _pad(segments, 0)
        options = torch.full((len(batch), max(len(example.option_rows) for example in batch)), -1)
        contexts = []
        first = 0  # the number of the item's first sequence
        for index, example in enumerate(batch):
            outputs = [
                row if self.layout.one_sequence else row_of[first + row] for row in example.option_rows
            ]
            options[index, : len(outputs)] = torch.tensor(outputs)
            if example.context_row is not None:
                contexts.append(row_of[first + example.context_row])
            first += len(example.sequences)
        return Batch(
            inputs,
            options,
            torch.tensor(contexts) if contexts else None,
            torch.tensor([example.gold for example in batch]),
            [example.position for example in batch],
            table([example.teacher for example in batch], options.shape[1]),
        )

    def _distinct(self, places: list[tuple[Encoded, int]]) -> tuple[list[tuple[Encoded, int]], list[int]]:
        """The distinct sequences, and for each given sequence the place of its equal among them."""
        # one_sequence: each item reads the outputs of its own.
        if self.layout.one_sequence or not self.shares:
            return places, list(range(len(places)))
        found: dict[tuple[tuple[int, ...], bytes], int] = {}
        rows: list[tuple[Encoded, int]] = []
        row_of = []
        for example, place in places:
            types = b"" if example.segments is None else example.segments[place]
            number = found.setdefault((tuple(example.sequences[place]), types), len(rows))
            if number == len(rows):
                rows.append((example, place))
            row_of.append(number)
        return rows, row_of


def padding(tokenizer: PreTrainedTokenizerBase) -> int:
    """The token that fills short rows. If a tokenizer has none, any token can be used: it is masked."""
    return tokenizer.pad_token_id or 0


def _pad(rows: Sequence[Sequence[int]], value: int) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([[*row, *[value] * (width - len(row))] for row in rows])
