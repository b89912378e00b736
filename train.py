"""Train a model, export it, evaluate the export and report: `python train.py model=minilm data=figqa_large`."""

import logging
from pathlib import Path

from rich.console import Console

from figlang import card, checkpoint, data, report, results, runs, runtime
from figlang.checkpoint import Recipe
from figlang.command import entry, to_yaml
from figlang.config import TrainConfig
from figlang.encode import Encoder
from figlang.evaluation import encode_all
from figlang.models import lora, networks

log = logging.getLogger("figlang")


@entry("train", TrainConfig)
def main(config: TrainConfig) -> None:
    console = Console()
    if runs.finished(config):
        console.print(f"{config.run} is finished and left as it is (overwrite=true replaces it)", highlight=False)
        return report.seeds(Path(config.run or "").parent, console)
    runtime.start(config.seed, config.trainer)
    model, method = config.model, config.method
    train, validation = data.for_training(config.data, config.paths)
    texts = [text for item in (*train.items, *validation.items) for text in (item.context, *item.options)]
    options = max(len(item.options) for item in (*train.items, *validation.items))
    network, tokenizer = networks.build(model, method.format, texts, options)
    encoder = Encoder(tokenizer, method.format, method.text, model.max_length)
    (encoded_train, notes), (encoded_validation, more) = (encode_all(encoder, split.items) for split in (train, validation))
    for note in (*train.notes, *validation.notes, *notes, *more)[:10]:
        log.info("data: %s", note)

    with runs.claim(config, (train, validation)) as run:
        (run.folder / "config.yaml").write_text(to_yaml(config))
        adapted = lora.adapt(network, config.peft, networks.head_modules(network))
        fitted = runtime.fit(config, run, adapted, encoder, encoded_train, (validation, encoded_validation))
        network = lora.merge(adapted)
        recipe = Recipe(
            model.name,
            model.name_or_path,
            method.name,
            method.format,
            method.text,
            model.max_length,
            method.scale,
            options,
            config.data.name,
            config.seed,
        )
        checkpoint.export(network, encoder, recipe, run.model)

        # Evaluated is what was exported, loaded afresh: the numbers are the folder's, not those of the network in memory.
        loaded = checkpoint.load(str(run.model))
        results.evaluate(loaded, validation, run.predictions, 64, config.trainer.progress)
        content = results.document(
            loaded,
            validation,
            "validation",
            config.data.name,
            run.predictions,
            config.seed,
            {
                "data": {"train": results.describe(train), "validation": results.describe(validation), "truncation": notes + more},
                "training": fitted.facts(),
                "health": fitted.health,
            },
        )
        (run.model / "README.md").write_text(card.card(recipe, content))
        report.curves(fitted.history, 1 / options, run.figures)
        results.write(run.metrics, content)
    results.show(content, validation, "validation", config.data.name, run.folder, console)
    report.seeds(run.folder.parent, console)


if __name__ == "__main__":
    main()
