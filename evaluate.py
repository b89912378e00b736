"""Evaluate a run folder, a released checkpoint or a hub model: `python evaluate.py checkpoint=runs/… data=figqa_medium`."""

from rich.console import Console

from figlang import checkpoint, data, results, runtime, submission
from figlang.command import entry
from figlang.config import EvaluateConfig
from figlang.evaluation import read_predictions


@entry("evaluate", EvaluateConfig)
def main(config: EvaluateConfig) -> None:
    runtime.start(config.seed, config.trainer)
    split = data.load(config.split, config.data, config.paths)
    runtime.log_notes(split.notes)
    loaded = checkpoint.load(config.checkpoint, config.revision)
    loaded.network.to(runtime.device(config.trainer))
    folder = results.evaluation_folder(config)
    evaluated = results.Evaluated(loaded, split, config.split, config.data.name, config.seed)
    evaluated.predict(folder / "predictions.jsonl", config.trainer.progress, config.batch_size)
    content = evaluated.document(folder / "predictions.jsonl") | {
        "data": {config.split: results.describe(split), "notes": list(split.notes)}
    }
    results.write(folder / "metrics.json", content)
    if config.split == "test":
        submission.write(folder / "submission.json", split.items, read_predictions(folder / "predictions.jsonl"))
    evaluated.show(content, folder, Console())


if __name__ == "__main__":
    main()
