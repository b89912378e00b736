"""Release a run: `python -m figlang.release run=runs/minilm/seed0 name=minilm-figqa` writes checkpoints/minilm-figqa.

`beside=[FOLDER,…]` names evaluations of the run and of its base as it comes: the card then says what the training won and lost.
Without run= they go onto the card of a checkpoint that is released already.
"""

from rich.console import Console

from figlang import recomputed, results, runtime
from figlang.command import data_presets, entry
from figlang.config import ReleaseConfig
from figlang.exports import releasing


@entry("release", ReleaseConfig)
def main(config: ReleaseConfig) -> None:
    runtime.start(0, config.trainer)
    folder = releasing.release(config, data_presets(config.against)) if config.run else releasing.annotate(config)
    results.show(recomputed.checked(folder / "metrics.json"), folder, Console())


if __name__ == "__main__":
    main()
