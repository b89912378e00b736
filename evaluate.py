"""Evaluate a run folder, a released checkpoint or a hub model: `python evaluate.py checkpoint=runs/… data=figqa_medium`."""

from pathlib import Path

from rich.console import Console

from figlang import checkpoint, data, results, runtime, submission
from figlang.command import entry
from figlang.config import EvaluateConfig
from figlang.evaluation import read_predictions


@entry("evaluate", EvaluateConfig)
def main(config: EvaluateConfig) -> None:
    console = Console()
    runtime.start(config.seed, config.trainer)
    split = data.load(config.split, config.data, config.paths)
    for note in split.notes[:10]:
        console.print(f"data: {note}", style="dim", highlight=False)
    loaded = checkpoint.load(config.checkpoint, config.revision)
    loaded.network.to(runtime.device(config.trainer))
    folder = Path(
        config.output or results.evaluation_folder(config.checkpoint, config.paths.runs, f"{config.data.name}-{config.split}")
    )
    folder.mkdir(parents=True, exist_ok=True)
    results.evaluate(loaded, split, folder / "predictions.jsonl", config.batch_size, config.trainer.progress)
    content = results.document(
        loaded,
        split,
        config.split,
        config.data.name,
        folder / "predictions.jsonl",
        config.seed,
        {"data": {config.split: results.describe(split)}},
    )
    results.write(folder / "metrics.json", content)
    if config.split == "test":
        submission.write(folder / "submission.json", split.items, read_predictions(folder / "predictions.jsonl"))
    results.show(content, split, config.split, config.data.name, folder, console)


if __name__ == "__main__":
    main()
