"""What is measured and compared: predictions in memory, and folders and files by their paths."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from figlang.api.predictions import Predictions
from figlang.errors import FiglangError
from figlang.files.whole import slug

Source = str | Path | Predictions


@contextmanager
def placed(sources: Sequence[Source]) -> Iterator[list[str]]:
    """The paths of several systems, which `figlang compare` and `figlang report` take too.

    Predictions in memory are written to a folder that is removed at the end.

    Args:
        sources: Paths and predictions.

    Yields:
        A path for each of them.

    Raises:
        FiglangError: One is something else.
    """
    with TemporaryDirectory(prefix="figlang-") as folder:
        paths: list[str] = []
        for source in sources:
            if isinstance(source, Predictions):
                paths.append(str(source.save(_free(Path(folder), slug(source.name)))))
            elif isinstance(source, str | Path):
                paths.append(str(Path(source).expanduser()))
            else:
                raise FiglangError(
                    f"predictions or the path of a run are wanted, not {type(source).__name__}; make "
                    "predictions by model.predict(items) or Predictions.from_list(records)"
                )
        yield paths


def _free(folder: Path, name: str) -> Path:
    """A folder that is not there yet. Its name is shown if nothing else tells two systems apart."""
    places = (folder / (name if number == 1 else f"{name}-{number}") for number in count(1))
    return next(place for place in places if not place.exists())
