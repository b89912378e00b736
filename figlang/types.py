"""The nouns that travel from file to report. Plain data: no torch, no file formats."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

CLASSES = ("entailment", "neutral", "contradiction")
TWO_CLASSES = ("entailment", "not_entailment")
# Attributes whose value is a number: their means are compared, and no category is made of a value.
QUANTITIES = frozenset({"novelty"})


@dataclass(frozen=True, slots=True)
class Item:
    """One forced choice.

    Attributes:
        id: Its name, from file to report.
        group: The cluster that it belongs to, for example a Winograd pair. Intervals and tests take clusters
            as independent.
        context: What the options follow from.
        options: What is chosen from.
        gold: The place of the right option; None where the label is hidden.
        attributes: Categories by name. An attribute holds every value that applies, so that an item can be in
            several categories at once.
        cut: Whether the context breaks off inside a sentence, which every option goes on with. Wording then
            makes no sentences of them.
        paired: Whether a group is a pair, or the like, which is got right together or not.
    """

    id: str
    group: str
    context: str
    options: tuple[str, ...]
    gold: int | None
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cut: bool = False
    paired: bool = True

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that a model reads, the context first."""
        return (self.context, *self.options)

    def hidden(self) -> Self:
        """The item with an empty context."""
        return replace(self, context="")


@dataclass(frozen=True, slots=True)
class Inference(Item):
    """Natural language inference: does the context, the premise, entail the hypothesis?

    The options are names of classes, CLASSES or TWO_CLASSES in that order. So an Inference has
    scores, predictions and an accuracy like any item, but only NLI networks read it. `group` is the premise.
    """

    paired: bool = False
    hypothesis: str = field(kw_only=True)

    @property
    def texts(self) -> tuple[str, ...]:
        """Premise and hypothesis."""
        return (self.context, self.hypothesis)


@dataclass(frozen=True, slots=True)
class Marked(Item):
    """An item about one word (or part of a word) of its context.

    Attributes:
        target: The place of the word in the context: its first character and the one after its last.
        blank: Whether the options are words that people put in its place, all of them right; then there is
            nothing to choose.
    """

    paired: bool = False
    target: tuple[int, int] = field(kw_only=True)
    blank: bool = field(default=False, kw_only=True)

    @property
    def word(self) -> str:
        return self.context[slice(*self.target)]

    def hidden(self) -> Self:
        """The item with an empty context."""
        return replace(self, context="", target=(0, 0))

    def highlighted(self, word: str | None = None) -> str:
        """The context with asterisks around the target, or around another `word` in its place."""
        start, end = self.target
        return f"{self.context[:start]}*{self.word if word is None else word}*{self.context[end:]}"


@dataclass(frozen=True, slots=True)
class Split:
    """Items of one split with where they came from.

    `sha256` is the hash of the file's bytes; `notes` are sentences about the rows, for the log and
    metrics.json; `whole` is False where only the first items were asked for; `labels_sha256` is the hash of a
    label file that came with it. `drawn` names the settings by which items were made of the file, if there
    are any, for the signature. `dropped` are ids of training items that were left out since an evaluation
    split has their metaphor. `task` is the name of the task that the items are of, and `question` the
    value of `data.question` that they were loaded with; both are empty for items that no reader made.
    `parts` are the numbers of items of the parts of which the items are made, in their order, for example of
    languages: a limit takes equally many of each. Without parts a limit takes the first items.
    """

    name: str
    items: tuple[Item, ...]
    source: str
    sha256: str
    notes: tuple[str, ...] = ()
    whole: bool = True
    labels_sha256: str | None = None
    drawn: str = ""
    dropped: tuple[str, ...] = ()
    task: str = ""
    question: str = ""
    parts: tuple[int, ...] = ()


# How the states of a sentence's tokens become one vector, by the names of sentence-transformers.
POOLINGS = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")


@dataclass(frozen=True, slots=True)
class SentenceVectors:
    """How a dual encoder makes vectors of sentences and compares them.

    The vectors of several poolings are joined. `similarity` is cosine or dot; `prompt` stands before every
    sentence; with `lower` sentences are read in small letters.
    """

    pooling: tuple[str, ...] = ("mean",)
    similarity: str = "cosine"
    prompt: str = ""
    lower: bool = False


COSINE_OF_MEANS = SentenceVectors()


@dataclass(frozen=True, slots=True)
class Prediction:
    """Scores of one item (higher = more plausible), one per option; `paired` is the item's.

    `choice` is the option that scores above all others, or None for a tie or a score that is not a number:
    both are wrong.
    """

    id: str
    group: str
    gold: int | None
    scores: tuple[float, ...]
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    paired: bool = True

    @classmethod
    def of(cls, item: Item, scores: tuple[float, ...]) -> "Prediction":
        """The scores of an item's own options."""
        return cls(item.id, item.group, item.gold, scores, item.attributes, item.paired)

    @property
    def choice(self) -> int | None:
        if len(self.scores) == 2:  # the most frequent case, which millions of rows have
            first, second = self.scores
            return 0 if first > second else 1 if second > first else None
        # Compared with every other one: `max` would take the first option of a diverged network, whose scores
        # are all nan.
        ahead = (
            i
            for i, score in enumerate(self.scores)
            if all(score > other for j, other in enumerate(self.scores) if j != i)
        )
        return next(ahead, None)

    @property
    def correct(self) -> bool | None:
        """Whether the choice is the gold option; None where the gold option is hidden."""
        return None if self.gold is None else self.choice == self.gold


class Turn(NamedTuple):
    """One turn of a conversation. `role` is system, user or assistant."""

    role: str
    content: str


Chat = tuple[Turn, ...]
"""A conversation, which a model goes on with."""


def said(message: str) -> Chat:
    """The conversation that a message of the user begins."""
    return (Turn("user", message),)


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of a model in a chat: `cut` if it ran into the limit of tokens, `refused` if a content
    filter stopped it, `usage`, what an endpoint says that it took, `reasoning`, which some servers send
    apart from the text, and `tokens_reasoning`, the tokens of the reasoning of a model that is here."""

    text: str
    cut: bool = False
    refused: bool = False
    usage: dict[str, float] | None = None
    reasoning: str = ""
    tokens_reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Prompted:
    """An item in words: a prompt and, for each option, the text that would continue it."""

    item: Item
    prompt: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Blank:
    """An item with a blank in words.

    Attributes:
        item: The item.
        before: The text before the blank.
        after: The text after it; empty where the text ends with the blank.
        cue: The end of `before` that only a text to be continued has, and a message does not.
    """

    item: Marked
    before: str
    after: str
    cue: str = ""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Ranks (from 1) of the answers that people gave at a blank, in their order; None of an answer that was
    not found.

    `written` is the word that the model prefers, `top` what it ranks highest: tokens, or words where words
    were ranked.
    """

    id: str
    group: str
    answers: tuple[str, ...]
    ranks: tuple[int | None, ...]
    written: str = ""
    top: tuple[str, ...] = ()
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def best(self) -> int | None:
        """The rank of the answer that is ranked highest."""
        return min((rank for rank in self.ranks if rank is not None), default=None)


@dataclass(frozen=True, slots=True)
class Open:
    """A question that is answered in free text.

    Attributes:
        item: The id of the item that it is about.
        group: The group of that item.
        kind: The kind of question.
        prompt: The question in words.
    """

    item: str
    group: str
    kind: str
    prompt: str


@dataclass(frozen=True, slots=True)
class Generation:
    """One answer that a model wrote. `text` is all of it, `answer` the part that is rated; `sample` counts
    those to one prompt.

    `item`, `group`, `kind` and `prompt` are those of the question.
    """

    item: str
    group: str
    kind: str
    sample: int
    prompt: str
    text: str
    answer: str

    @property
    def question(self) -> str:
        """The prompt without the examples before its question, which blank lines end."""
        return self.prompt.split("\n\n")[-1]
