"""Release a run: `python -m figlang release run=runs/minilm/seed0 name=minilm-figqa` writes
checkpoints/minilm-figqa.

`beside=[FOLDER,…]` names evaluations of the run and of its base as it comes: the card then says what the
training won and lost. Without run= they go onto the card of a checkpoint that is released already.
"""

from rich.console import Console

from figlang.config import ReleaseConfig
from figlang.config.command import data_presets, entry
from figlang.evaluation import runtime
from figlang.release import releasing
from figlang.report import showing
from figlang.runs import recomputed


@entry("release", ReleaseConfig)
def main(config: ReleaseConfig) -> None:
    runtime.start(0, config.trainer)
    folder = (
        releasing.release(config, data_presets(config.against)) if config.run else releasing.annotate(config)
    )
    showing.show(recomputed.checked(folder / "metrics.json"), folder, Console())


if __name__ == "__main__":
    main()
