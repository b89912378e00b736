"""Results to measure and compare: predictions in memory, and folders and files by their paths."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from figlang.api.predictions import Predictions
from figlang.errors import FiglangError
from figlang.files.whole import slug

Source = str | Path | Predictions


@contextmanager
def placed(sources: Sequence[Source], kept: Path | None = None) -> Iterator[list[str]]:
    """The paths of several systems, which `figlang compare` and `figlang report` take too.

    Predictions in memory are written to a folder. Those that were read are taken where they are, since the
    recipe of a run, by which its seeds are one system, lies there too.

    Args:
        sources: Paths and predictions.
        kept: The folder; what an earlier call wrote there is replaced. None: one that is removed at the end.

    Yields:
        A path for each of them.

    Raises:
        FiglangError: One is something else.
    """
    with ExitStack() as stack:
        folder = kept or Path(stack.enter_context(TemporaryDirectory(prefix="figlang-")))
        paths: list[str] = []
        for source in sources:
            if isinstance(source, Predictions) and source.source is not None:
                paths.append(str(source.source))
            elif isinstance(source, Predictions):
                place = _free(folder, slug(source.name), paths)
                paths.append(str(source.save(place, overwrite=kept is not None)))
            elif isinstance(source, str | Path):
                paths.append(str(Path(source).expanduser()))
            else:
                raise FiglangError(
                    f"predictions or the path of a run are wanted, not {type(source).__name__}; make "
                    "predictions by model.predict(items) or Predictions.from_list(records)"
                )
        yield paths


def _free(folder: Path, name: str, taken: Sequence[str]) -> Path:
    """A folder for a system; its name is shown if nothing else tells two systems apart."""
    places = (folder / (name if number == 1 else f"{name}-{number}") for number in count(1))
    return next(place for place in places if not any(Path(path).is_relative_to(place) for path in taken))
