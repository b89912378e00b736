"""The input and output of every ability: settings and items in, rows of files out."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from figlang.config import NliConfig, PromptConfig, ProtocolConfig, ScoringConfig
from figlang.config.verbs.reproduce import RankingConfig
from figlang.evaluation.processes import Processes
from figlang.models import attention, gguf, layout, opening
from figlang.models.checkpoint import Served
from figlang.models.hosted.opened import Hosted, Opened
from figlang.models.manifest import UNTRAINED
from figlang.scoring.adapted import has_layers
from figlang.tasks import registry
from figlang.tasks.examples import Pool
from figlang.tasks.questions import Questions
from figlang.tasks.task import Task
from figlang.types import Item, Prediction, Ranking, Split

Row = TypeVar("Row")


@dataclass(frozen=True)
class Placed(Generic[Row]):
    """Rows, and for each the position of its item in the split."""

    positions: Sequence[int] = ()
    rows: Sequence[Row] = ()


@dataclass(frozen=True)
class How:
    """How to predict.

    Attributes:
        progress: Whether to show a bar.
        batch_size: Items that an encoder reads at a time.
        scoring: The scoring; None for the manifest's own.
        protocol: How a chat model is asked; None for the protocol `letter`.
        prompt: The prompt.
        pool: The pool that the examples of the prompt are drawn from.
        nli: How probabilities of NLI classes become scores.
        processes: The processes that share the items; the first one writes what all of them predict.
        max_length: The longest input of an encoder in tokens; None for the manifest's own.
        blind: Whether options are also scored with the context hidden (see figlang/tasks/blind.py).
        ranking: How words are ranked at a blank; `prompt.question` names the prompt of the blank.
    """

    progress: bool = False
    batch_size: int = 64
    scoring: ScoringConfig | None = None
    prompt: PromptConfig = field(default_factory=PromptConfig)
    pool: Pool = field(default_factory=Pool)
    nli: NliConfig = field(default_factory=NliConfig)
    processes: Processes = field(default_factory=Processes)
    max_length: int | None = None
    blind: bool = True
    protocol: ProtocolConfig | None = None
    ranking: RankingConfig = field(default_factory=RankingConfig)


@dataclass(frozen=True)
class Share:
    """The items of a split that one process predicts, at these `positions`."""

    split: Split
    positions: Sequence[int]

    @cached_property
    def items(self) -> list[Item]:
        return [self.split.items[position] for position in self.positions]

    @cached_property
    def task(self) -> Task:
        """The task that the items are of."""
        return registry.task(self.split.task)

    @cached_property
    def questions(self) -> Questions:
        """How the items are put in words."""
        return self.task.asked(self.split.question)

    def place(self, rows: Sequence[Row], owners: Sequence[str] | None = None) -> Placed[Row]:
        """Rows with the positions of their items.

        Args:
            rows: A row for each item in their order, or any rows if `owners` are given.
            owners: For each row the id of its item.
        """
        if owners is None:
            assert len(rows) == len(self.positions), "every item has a row"
            return Placed(self.positions, rows)
        return Placed([self._position[owner] for owner in owners], rows)

    @cached_property
    def _position(self) -> dict[str, int]:
        return {item.id: position for item, position in zip(self.items, self.positions, strict=True)}


@dataclass(frozen=True)
class Rows:
    """The rows of each file for some items. None: the file is not written.

    There are predictions, those with the context hidden, backward ones, and the log-probabilities, class
    probabilities or replies that predictions are made from. At blanks there are rankings, and no predictions.
    """

    forward: Placed[Prediction] = field(default_factory=Placed)
    blind: Placed[Prediction] | None = None
    backward: Placed[Prediction] | None = None
    measured: Placed[Mapping[str, Any]] | None = None
    judged: Placed[Prediction] | None = None
    replies: Placed[dict[str, Any]] | None = None
    replies_blind: Placed[dict[str, Any]] | None = None
    ranked: Placed[Ranking] | None = None


class Answering(ABC):
    """A model that answers by one of its abilities."""

    @abstractmethod
    def answer(self, share: Share, how: How) -> tuple[Rows, dict[str, Any]]:
        """Predict some items.

        Args:
            share: The items and how their task puts them in words.
            how: The settings.

        Returns:
            Rows with positions, and the settings that can change a score by name, for the signature.

        Raises:
            FiglangError: The settings or items are not for this model.
        """


def origin(loaded: Opened) -> dict[str, Any]:
    """The model and its training data, for a signature. `weights` is the network's fingerprint."""
    manifest = loaded.manifest
    if isinstance(loaded, Served):
        return {
            "model": manifest.name,
            "base": manifest.base,
            "method": manifest.method,
            **loaded.endpoint.facts,
        }
    # The number of bits in a file is not known once it is read: weights become the float32 values that they
    # stand for.
    kept = manifest.settings == UNTRAINED and gguf.is_gguf(manifest.base)
    few = gguf.quantization(manifest.base) if kept else None
    if few is None and not isinstance(loaded, Hosted):
        few = layout.note(loaded.network)
    known = {
        "model": manifest.name,
        "base": manifest.base,
        **({"file": few} if few else {}),
        "method": manifest.method,
        "trained": f"{manifest.trained_on}@{manifest.settings}",
        "train_seed": manifest.seed,
    }
    if isinstance(loaded, Hosted):
        return known | loaded.engine.facts
    return {
        **known,
        "precision": layout.precision(loaded.network),
        **({"adapters": "apart"} if has_layers(loaded.network) else {}),
        **({"attention": code} if (code := attention.chosen(loaded.network)) else {}),
        "weights": loaded.fingerprint,
        **(
            {"remote_code": True}
            if opening.runs_foreign_code(loaded.network, loaded.network.config, loaded.tokenizer)
            else {}
        ),
    }
