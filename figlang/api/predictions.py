"""Predictions of a model, in memory or read from a folder."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, overload

from figlang.api import tabular
from figlang.api.quiet import quietly
from figlang.api.shown import Shown, clipped
from figlang.errors import FiglangError
from figlang.files import folders, ownership
from figlang.files.whole import slug
from figlang.reports.showing import title
from figlang.runs import answered, kept, records, results, systems
from figlang.runs.answered import Answered
from figlang.runs.predictions import write_predictions
from figlang.tables import Cell, Number, Table
from figlang.text.amounts import counted
from figlang.types import Item, Prediction

SHOWN = 5  # predictions that are shown


class Predictions(Sequence[Prediction], Shown):
    """The choices of one system on some items, in their order. It is a sequence of `Prediction`.

    Attributes:
        name: The name of the system.
        answered: The rows of every kind; `answered.measured` has the log-probabilities, where there are any.
        about: What metrics.json says without numbers: signature, model, data, versions. Empty for rows that
            no model of figlang made.
        notes: Warnings that came up while the model predicted.
        items: The items, if they are in no data set. They are saved with the predictions.
    """

    def __init__(
        self,
        rows: Answered,
        about: Mapping[str, Any] | None = None,
        name: str = "predictions",
        notes: Sequence[str] = (),
        items: Sequence[Item] = (),
    ) -> None:
        self.answered, self.about, self.notes = rows, dict(about or {}), tuple(notes)
        self.items = tuple(items)
        self.name = str(self.about.get("model", name))
        self._source: tuple[Path, str] | None = None  # where it was read, and the hash of metrics.json there

    @property
    def ids(self) -> list[str]:
        """The ids of the items."""
        return [row.id for row in self]

    @property
    def choices(self) -> list[int | None]:
        """The place of the chosen option of each item; None for a tie."""
        return [row.choice for row in self]

    @property
    def blind(self) -> tuple[Prediction, ...] | None:
        """The predictions with the context hidden; None where they were not made."""
        return None if self.answered.blind is None else tuple(self.answered.blind)

    @property
    def signature(self) -> str:
        """All settings that the numbers depend on, in one line."""
        return str(self.about.get("signature", ""))

    @cached_property
    def document(self) -> dict[str, Any]:
        """The content of metrics.json: `about`, and the numbers that the rows give."""
        return {"model": self.name, "facts": {}, **self.about, **self.answered.numbers()}

    def __len__(self) -> int:
        return len(self.answered.forward)

    @overload
    def __getitem__(self, place: int) -> Prediction: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Prediction]: ...
    def __getitem__(self, place: int | slice) -> Prediction | Sequence[Prediction]:
        return self.answered.forward[place]

    @classmethod
    def read(cls, path: str | Path) -> "Predictions":
        """Read the predictions of a run folder, an evaluation folder or a predictions file.

        Args:
            path: The folder or file.

        Raises:
            FiglangError: There are none, or a file is damaged.
        """
        with quietly() as notes:
            (system,) = systems.read([str(path)])
            made = {"metrics", "blind", "gain", "backward", "three_way", "replies", "refused", "files"}
            if "signature" not in system.content:
                return cls(Answered(system.predictions), name=str(system.content["model"]), notes=notes)
            about = {key: value for key, value in system.content.items() if key not in made}
            own = kept.read(system.folder, {}, systems.data_of(system))
            items = () if own is None else own.items
            found = cls(answered.read(system.folder), about, notes=notes, items=items)
            found._source = (Path(path).expanduser().absolute(), _hash(system.folder))
            return found

    @property
    def source(self) -> Path | None:
        """The folder or file that it was read from; None if there is none, or another result by now."""
        if self._source is None:
            return None
        path, known = self._source
        return path if _hash(path if path.is_dir() else path.parent) == known else None

    @classmethod
    def from_list(cls, rows: Sequence[Mapping[str, Any]], name: str = "predictions") -> "Predictions":
        """Predictions of any system, from dictionaries.

        Args:
            rows: For each item a dictionary with `id`, `scores` (a number for each option, the highest is
                the choice), `gold` and, for pairs, `group`. `paired=False` says that a group is not a pair; a
                group of more items than options is not one. Other keys are attributes.
            name: The name of the system.

        Raises:
            FiglangError: A row is not a prediction; the message says which one and why.
        """
        return cls(Answered(records.read_predictions(rows)), name=name)

    @classmethod
    def from_pandas(cls, frame: Any, name: str = "predictions") -> "Predictions":
        """Predictions of any system, from a pandas DataFrame with the columns of `from_list`.

        Args:
            frame: The DataFrame, a line for each item.
            name: The name of the system.

        Raises:
            FiglangError: A line is not a prediction.
        """
        return cls.from_list(tabular.from_pandas(frame), name)

    @classmethod
    def from_datasets(cls, dataset: Any, name: str = "predictions") -> "Predictions":
        """Predictions of any system, from one split of a `datasets.Dataset` with the columns of `from_list`.

        Args:
            dataset: The Dataset, a line for each item.
            name: The name of the system.

        Raises:
            FiglangError: A line is not a prediction.
        """
        return cls.from_list(tabular.from_datasets(dataset), name)

    def to_list(self) -> list[dict[str, Any]]:
        """A dictionary for each item, with its scores, choice and whether it is correct."""
        return [records.of_prediction(row) for row in self]

    def to_pandas(self) -> Any:
        """The predictions as a pandas DataFrame, a line for each item."""
        return tabular.to_pandas(self.to_list())

    def to_datasets(self) -> Any:
        """The predictions as a `datasets.Dataset`, a line for each item."""
        return tabular.to_datasets(self.to_list())

    def save(self, folder: str | Path, overwrite: bool = False) -> Path:
        """Write the files of an evaluation, which every command reads.

        Args:
            folder: The folder. It keeps a finished result of other settings.
            overwrite: Replace such a result.

        Returns:
            The folder; for rows that no model of figlang made, their file in it.

        Raises:
            FiglangError: The folder holds another result, or cannot be written to.
        """
        place = Path(folder).expanduser()
        if not self.about:
            file = place / f"{slug(self.name)}.jsonl"
            if file.exists() and not overwrite:
                raise FiglangError(f"{file} is there already; choose another folder, or overwrite=True")
            place.mkdir(parents=True, exist_ok=True)
            write_predictions(file, self)
            return file
        from figlang.runs import outputs  # torch comes with it, and rows that are only counted need none

        with (
            outputs.claimed_folder(place, outputs.known_of(self.about), overwrite),
            folders.staged(place, ownership.RESULT, outputs.MADE) as new,
        ):
            self.answered.write(new)
            if self.items:
                kept.write(new, self.items)
            results.write(new / outputs.METRICS, self.document)
        return place

    def tables(self) -> list[Table]:
        first = self.answered.forward[:SHOWN]
        most = max((len(row.scores) for row in first), default=0)
        lines: list[tuple[Cell, ...]] = [
            (
                clipped(row.id, 24),
                "tie" if row.choice is None else row.choice,
                "hidden" if row.gold is None else row.gold,
                {None: "–", True: "yes", False: "no"}[row.correct],
                *map(Number, row.scores),
                *[None] * (most - len(row.scores)),
            )
            for row in first
        ]
        named = title(self.about) if "data_name" in self.about else self.name
        titled = f"{named}: {counted(len(self), 'prediction')}"
        columns = ("id", "choice", "gold", "correct", *(f"score {place}" for place in range(most)))
        return [Table("predictions", titled, columns, tuple(lines))]

    def lines(self) -> list[str]:
        rest = len(self) - SHOWN
        more = [f"and {counted(rest, 'more prediction', 'more predictions')}"] if rest > 0 else []
        return [*more, *self.notes]


def _hash(folder: Path) -> str:
    """The hash of the metrics.json of a folder, which has those of the predictions; empty without it."""
    try:
        return sha256((folder / "metrics.json").read_bytes()).hexdigest()
    except OSError:
        return ""
