"""Evaluate a run or a released checkpoint (`checkpoint=runs/…`), or a pretrained model zero-shot (`model=smollm2 scoring=pmi`)."""

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
    zero_shot = config.checkpoint is None and config.model.family == "causal"
    if zero_shot:
        folder = results.evaluation_folder(config)
        name, facts = config.model.name, results.predict_zero_shot(config, split, folder)
    else:
        loaded = checkpoint.load(config.checkpoint or config.model.name_or_path, config.revision)
        loaded.network.to(runtime.device(config.trainer))
        folder = results.evaluation_folder(config)
        name, facts = loaded.recipe.name if config.checkpoint else config.model.name, checkpoint.facts(loaded)
        results.predict(loaded, split, folder / "predictions.jsonl", config.trainer.progress, config.batch_size)

    evaluated = results.Evaluated(name, facts, split, config.split, config.data.name, config.seed)
    backward = folder / "predictions_backward.jsonl" if zero_shot else None
    about = {config.split: results.describe(split), "notes": list(split.notes)}
    content = evaluated.document(folder / "predictions.jsonl", backward) | {"data": about}
    results.write(folder / "metrics.json", content)
    if config.split == "test":
        submission.write(folder / "submission.json", split.items, read_predictions(folder / "predictions.jsonl"))
    results.show(content, folder, Console())


if __name__ == "__main__":
    main()
