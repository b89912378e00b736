"""Merge adapters into a plain Hugging Face folder: `checkpoint=runs/… output=FOLDER`."""

from functools import partial
from pathlib import Path

from rich.console import Console

from figlang.config import MergeConfig
from figlang.config.entry import entry
from figlang.errors import FiglangError
from figlang.evaluation import runtime
from figlang.machine.printing import say
from figlang.models import checkpoint
from figlang.models.manifest import MANIFEST
from figlang.release import card, merging
from figlang.runs import recomputed
from figlang.tasks import registry as data


@entry("merge")
def main(config: MergeConfig) -> None:
    folder, run = Path(config.output), Path(config.checkpoint)
    check = partial(_check_free, folder, config.overwrite)
    check()
    metrics = (run.parent if run.name == "model" else run) / "metrics.json"
    document = recomputed.read(metrics) if metrics.is_file() else None
    runtime.start(0, config.trainer)
    split = data.load("validation", config.data, config.paths)
    loaded = checkpoint.load_unmerged(config.checkpoint, config.model, config.paths.cache)
    said = None if document is None else lambda manifest: card.card(manifest, document)
    merging.merge(loaded, split, folder, said, check)
    say(str(folder), Console(), "bold")


def _check_free(folder: Path, overwrite: bool) -> None:
    """Raise FiglangError unless a folder is free or may be replaced.

    Only one with an export of ours may, since `output=` may name any folder. Files of the user's own in it
    stay.
    """
    if folder.exists() and not (overwrite and (folder / MANIFEST).is_file()):
        raise FiglangError(
            f"{folder} already exists; take another output=FOLDER, or overwrite=true if it is an export"
        )


if __name__ == "__main__":
    main()
