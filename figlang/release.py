"""Release a run: `python -m figlang.release run=runs/minilm/seed0 name=minilm-figqa` writes checkpoints/minilm-figqa."""

from rich.console import Console

from figlang import results, runtime
from figlang.command import data_presets, entry
from figlang.config import ReleaseConfig
from figlang.exports import releasing


@entry("release", ReleaseConfig)
def main(config: ReleaseConfig) -> None:
    runtime.start(0, config.trainer)
    folder = releasing.release(config, data_presets(config.against))
    results.show(results.read(folder / "metrics.json"), folder, Console())


if __name__ == "__main__":
    main()
