"""Merge adapters into a plain Hugging Face folder: `checkpoint=runs/… output=FOLDER`."""

from pathlib import Path

from rich.console import Console

from figlang.config import MergeConfig
from figlang.config.entry import entry
from figlang.errors import FiglangError
from figlang.evaluation import runtime
from figlang.models import checkpoint
from figlang.models.manifest import MANIFEST
from figlang.release import card, merging
from figlang.runs import recomputed
from figlang.tasks import registry as data


@entry("merge")
def main(config: MergeConfig) -> None:
    folder, run = Path(config.output), Path(config.checkpoint)
    # Only a folder with an export of ours may be replaced, since `output=` may name any folder; files of the
    # user's own in it stay.
    if folder.exists() and not (config.overwrite and (folder / MANIFEST).is_file()):
        raise FiglangError(
            f"{folder} already exists; take another output=FOLDER, or overwrite=true if it is an export"
        )
    metrics = (run.parent if run.name == "model" else run) / "metrics.json"
    document = recomputed.read(metrics) if metrics.is_file() else None
    runtime.start(0, config.trainer)
    split = data.load("validation", config.data, config.paths)
    loaded = checkpoint.load_unmerged(config.checkpoint, config.model, config.paths.cache)
    merging.merge(
        loaded, split, folder, None if document is None else lambda manifest: card.card(manifest, document)
    )
    Console().print(str(folder), style="bold", soft_wrap=True, highlight=False, markup=False)


if __name__ == "__main__":
    main()
