"""Write a run as a checkpoint for others: `run=runs/minilm/seed0 name=NAME`.

`beside=[FOLDER,…]` names evaluations of the run and of its base model. The card then says what the training
improved and what it worsened. Without run= they are added to the card of a released checkpoint.
"""

from rich.console import Console

from figlang.config import ReleaseConfig
from figlang.config.composing import data_sets
from figlang.config.entry import entry
from figlang.evaluation import runtime
from figlang.release import releasing
from figlang.reports import showing
from figlang.runs import recomputed


@entry("release")
def main(config: ReleaseConfig) -> None:
    if config.run:
        runtime.device(config.trainer)  # refuses one that is not here before anything is read
    runtime.start(0, config.trainer)
    folder = (
        releasing.release(config, data_sets(config.against)) if config.run else releasing.annotate(config)
    )
    showing.show(recomputed.checked(folder / "metrics.json"), folder, Console())


if __name__ == "__main__":
    main()
