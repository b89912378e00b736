"""How the texts of an item become sequences for an encoder, and where the scores of its options are read."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

from transformers import PreTrainedTokenizerBase

from figlang.errors import FiglangError
from figlang.types import COSINE_OF_MEANS, Inference, Item, SentenceVectors

Worded = Callable[[str], str]


class Layout(ABC):
    """The layout of one input format. An item becomes one sequence or several, each of one or two texts."""

    texts_at_once: ClassVar[int] = 2
    """Texts that a sequence holds at least, each of a token at least."""
    context_row: ClassVar[int | None] = None
    """Which sequence of an item is the context by itself; None if there is none."""
    one_sequence: ClassVar[bool] = False
    """Whether an item is one sequence, so that the scores of its options are outputs of that sequence."""

    @abstractmethod
    def sequences(self, item: Item, worded: Worded) -> list[tuple[str, ...]]:
        """The sequences of an item.

        Args:
            item: An item with two options or more.
            worded: Turns a text of the item into what the network reads.

        Returns:
            One or two texts for every sequence; the same number for all of them.
        """

    def option_rows(self, item: Item) -> tuple[int, ...]:
        """The sequence of each option or, with `one_sequence`, its place among the outputs."""
        return tuple(range(len(item.options)))


class Pair(Layout):
    """One sequence for each option, `[CLS] context [SEP] option [SEP]`.

    The numbers of Liu et al. 2022 were made with it.
    """

    def sequences(self, item: Item, worded: Worded) -> list[tuple[str, ...]]:
        context = worded(item.context)
        return [(context, worded(option)) for option in item.options]


class Joint(Layout):
    """One sequence, `[CLS] context [SEP] option 1 [SEP] option 2 [SEP]` (Liu et al. 2022, §4.2).

    Options stand in alphabetical order, so that the order they are listed in changes no score.
    """

    one_sequence = True

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer

    def sequences(self, item: Item, worded: Worded) -> list[tuple[str, ...]]:
        options = (worded(item.options[index]) for index in _alphabetical(item))
        return [(worded(item.context), f" {self._separator()} ".join(options))]

    def option_rows(self, item: Item) -> tuple[int, ...]:
        order = _alphabetical(item)
        return tuple(order.index(index) for index in range(len(item.options)))

    def _separator(self) -> str:
        token: str | None = self._tokenizer.sep_token or self._tokenizer.eos_token
        if token is None:
            raise FiglangError(
                "format=joint needs a token between the options, and this tokenizer has none; take pair or "
                "dual"
            )
        return token


class Dual(Layout):
    """Context and options as sequences of their own, each after the prompt of `vectors`."""

    texts_at_once = 1
    context_row = 0

    def __init__(self, vectors: SentenceVectors = COSINE_OF_MEANS) -> None:
        self._vectors = vectors

    def sequences(self, item: Item, worded: Worded) -> list[tuple[str, ...]]:
        return [(self._sentence(worded(text)),) for text in (item.context, *item.options)]

    def option_rows(self, item: Item) -> tuple[int, ...]:
        return tuple(range(1, len(item.options) + 1))

    def _sentence(self, text: str) -> str:
        whole = self._vectors.prompt + text
        return whole.lower() if self._vectors.lower else whole


class Entailment(Layout):
    """One sequence, `[CLS] premise [SEP] hypothesis [SEP]`, with an output for each class."""

    one_sequence = True

    def sequences(self, item: Item, worded: Worded) -> list[tuple[str, ...]]:
        assert isinstance(item, Inference), "only a premise with a hypothesis has classes"
        return [(worded(item.context), worded(item.hypothesis))]


def layout(format: str, tokenizer: PreTrainedTokenizerBase, vectors: SentenceVectors) -> Layout:
    """The layout of an input format.

    Args:
        format: `pair`, `joint`, `dual` or `nli`.
        tokenizer: The network's; `joint` takes the token between options from it.
        vectors: How `dual` words its sentences.

    Returns:
        The layout.
    """
    makers: dict[str, Callable[[], Layout]] = {
        "pair": Pair,
        "joint": lambda: Joint(tokenizer),
        "dual": lambda: Dual(vectors),
        "nli": Entailment,
    }
    return makers[format]()


def _alphabetical(item: Item) -> Sequence[int]:
    return sorted(range(len(item.options)), key=lambda index: item.options[index])
