"""Training speed beside the Hugging Face Trainer: `make bench-train ARGS="--data DIR"`.

Both train the same pretrained MiniLM with a multiple-choice head on the same tokenised items of Fig-QA
medium, with the same batch size, learning rate, schedule, clipping, precision and number of threads. figlang
runs `figlang.training.fitting.fit`; the Trainer runs as in its multiple-choice recipe, everything not named
above at its default, without logging, saving and evaluation. Rounds are interleaved and have a seed each.
Timed are the epochs alone: neither loading nor tokenising nor building the optimizer, on either side.
"""

import argparse
import multiprocessing
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from transformers import (
    AutoModelForMultipleChoice,
    DataCollatorForMultipleChoice,
    PreTrainedModel,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)
from transformers.utils.logging import disable_progress_bar, set_verbosity_error

from benchmarks.command import in_one_line
from benchmarks.load import busy
from figlang.config import TrainConfig
from figlang.config.composing import compose
from figlang.evaluation import runtime
from figlang.evaluation.choosing import predict
from figlang.models import networks
from figlang.models.weights import locate
from figlang.runs.training import Run
from figlang.scoring.encode import Encoder
from figlang.scoring.head import scorer
from figlang.tasks.registry import for_training
from figlang.training.fitting import fit
from figlang.training.preparation import Prepared, prepare
from figlang.training.throughput import product_rate

PRECISIONS = {"bf16": ("bf16-mixed", torch.bfloat16), "float32": ("32-true", torch.float32)}
SIZES = (1024, 2048, 4096)


@dataclass(frozen=True)
class Fit:
    """One training: seconds of its epochs, CPU seconds, the loss of (some of) its steps in order, accuracy
    afterwards."""

    seconds: float
    cpu: float
    losses: list[float]
    accuracy: float


@dataclass(frozen=True)
class Setting:
    """What both sides share: the configuration as the command line would compose it, and the tokenised
    items."""

    config: TrainConfig
    ready: Prepared

    def quality(self, network: PreTrainedModel) -> float:
        """Accuracy on the validation split."""
        method, model = self.config.method, self.config.model
        encoder = Encoder(self.ready.tokenizer, method.format, method.text, model.max_length)
        found = predict(network, scorer("pair", 1.0), encoder, self.ready.validation.items)
        return fmean(bool(prediction.correct) for prediction in found)


class Stopwatch(TrainerCallback):
    """Seconds within epochs, as `figlang.training.callbacks.History` counts them."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def on_epoch_begin(self, *_: Any, **__: Any) -> None:
        self.seconds -= time.perf_counter()

    def on_epoch_end(self, *_: Any, **__: Any) -> None:
        self.seconds += time.perf_counter()


class Keeping(Trainer):
    """A Trainer that keeps the loss of every step; nothing else is changed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.losses: list[torch.Tensor] = []

    def training_step(self, *arguments: Any, **options: Any) -> torch.Tensor:
        loss: torch.Tensor = super().training_step(*arguments, **options)
        self.losses.append(loss.detach())
        return loss


def figlang(setting: Setting) -> Fit:
    """A training through figlang's own door."""
    ready, config = setting.ready, setting.config
    runtime.start(config.seed, config.trainer)
    network, _ = networks.build(config.model, "pair", [], 2)
    # fit validates after every epoch and the Trainer here does not, so fit gets the smallest validation set
    # there is.
    few = replace(ready.validation, items=ready.validation.items[:2])
    alone = replace(ready, network=network, validation=few, validation_examples=ready.validation_examples[:2])
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        fitted = fit(config, Run(Path(folder)), alone)
    cpu = time.process_time() - started
    assert fitted is not None
    losses = [row[4] for row in fitted.history if row[2:4] == ("train", "step_loss")]
    return Fit(fitted.seconds, cpu, losses, setting.quality(network))


def hugging_face(setting: Setting) -> Fit:
    """The same training with the Trainer."""
    config, method = setting.config, setting.config.method
    torch.set_num_threads(config.trainer.threads or 1)
    disable_progress_bar()
    set_verbosity_error()
    set_seed(config.seed)
    rows = [
        {
            "input_ids": list(example.sequences),
            "attention_mask": [[1] * len(ids) for ids in example.sequences],
            "token_type_ids": list(example.segments or ()),
            "label": example.gold,
        }
        for example in setting.ready.examples
    ]
    tokenizer, watch = setting.ready.tokenizer, Stopwatch()
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            use_cpu=True,
            bf16=config.trainer.precision == "bf16-mixed",
            per_device_train_batch_size=method.batch_size,
            num_train_epochs=method.epochs,
            learning_rate=method.lr,
            warmup_steps=method.warmup,
            max_grad_norm=method.clip,
            weight_decay=method.weight_decay,
            seed=config.seed,
            eval_strategy="no",
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
            disable_tqdm=True,
        )
        network = AutoModelForMultipleChoice.from_pretrained(locate(config.model.name_or_path))
        collator = DataCollatorForMultipleChoice(tokenizer)
        trainer = Keeping(
            model=network, args=arguments, train_dataset=rows, data_collator=collator, callbacks=[watch]
        )
        trainer.remove_callback(PrinterCallback)
        started = time.process_time()
        trainer.train()
        cpu = time.process_time() - started
    return Fit(watch.seconds, cpu, [float(loss) for loss in trainer.losses], setting.quality(network))


def compose_round(options: argparse.Namespace, precision: str, batch_size: int, seed: int) -> Setting:
    """The configuration of a round, and its items, tokenised before any clock runs."""
    overrides = [
        *(
            "model=minilm",
            "data=figqa_medium",
            f"paths.data={options.data}",
            f"seed={seed}",
            f"method.epochs={options.epochs}",
        ),
        *(
            "method.format=pair",
            f"method.batch_size={batch_size}",
            f"trainer.precision={PRECISIONS[precision][0]}",
        ),
        *("trainer.accelerator=cpu", f"trainer.threads={options.threads}", "trainer.progress=false"),
    ]
    config = compose("train", TrainConfig, overrides)
    runtime.start(seed, config.trainer)
    return Setting(config, prepare(config, *for_training(config.data, config.paths)))


def compare(options: argparse.Namespace, precision: str, batch_size: int, table: Table) -> None:
    """All rounds of one precision and batch size, as two rows of the table."""
    fits: dict[str, list[Fit]] = {"figlang": [], "HF Trainer": []}
    rates: dict[int, list[float]] = {size: [] for size in SIZES}
    for seed in range(options.rounds):
        setting = compose_round(options, precision, batch_size, seed)
        sides = [("figlang", figlang), ("HF Trainer", hugging_face)]
        for name, side in sides if seed % 2 == 0 else reversed(sides):
            # A process each: what figlang sets for its own (memory, attention) must not reach the Trainer.
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
                fits[name].append(process.submit(side, setting).result())
        for size in SIZES:
            rates[size].append(product_rate(PRECISIONS[precision][1], [size], repeats=5))
    rate = max(median(values) for values in rates.values())
    whole = AutoModelForMultipleChoice.from_pretrained(locate(setting.config.model.name_or_path))
    weights = sum(weight.numel() for name, weight in whole.named_parameters() if "embeddings" not in name)
    work = 6 * weights * sum(example.tokens for example in setting.ready.examples) * options.epochs
    items = len(setting.ready.examples)
    ratios = [theirs.seconds / ours.seconds for ours, theirs in zip(*fits.values(), strict=True)]
    for name, rounds in fits.items():
        seconds = median(fit.seconds for fit in rounds)
        table.add_row(
            f"{precision}, {batch_size} items",
            name,
            f"{items * options.epochs / seconds:.0f}",
            f"{median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})" if name == "figlang" else "1",
            f"{median(fit.cpu for fit in rounds):.1f}",
            f"{fmean([fmean(fit.losses) for fit in rounds]):.4f}",
            f"{fmean([fmean(fit.losses[-max(1, len(fit.losses) // 5) :]) for fit in rounds]):.4f}",
            f"{fmean([fit.accuracy for fit in rounds]):.3f}",
            f"{work / seconds / rate:.0%} of {rate / 1e9:.0f} GFLOP/s",
        )


@in_one_line
def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data = os.environ.get("FIGLANG_DATA")
    parser.add_argument(
        "--data", default=data, required=not data, help="folder of the data sets; default FIGLANG_DATA"
    )
    parser.add_argument("--batch-size", type=int, nargs="+", default=[8], help="items per step (8)")
    parser.add_argument(
        "--precision", nargs="+", choices=list(PRECISIONS), default=list(PRECISIONS), help="both by default"
    )
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument(
        "--rounds", type=int, default=3, help="each trains both sides with a seed of its own (3)"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--load", type=int, default=0, help="busy processes beside both sides")
    options = parser.parse_args()
    table = Table(
        title=f"Fig-QA medium, MiniLM, {options.epochs} epoch(s), {options.rounds} seeds, "
        f"{options.threads} threads, {options.load} busy processes"
    )
    headings = (
        "setting|side|examples/s|times the Trainer|CPU seconds|loss, all|last fifth|dev accuracy|of the bound"
    )
    for heading in headings.split("|"):
        table.add_column(heading)
    with busy(options.load):
        for precision in options.precision:
            for batch_size in options.batch_size:
                compare(options, precision, batch_size, table)
    console = Console(width=max(150, Console().width))
    console.print(table)
    console.print(
        "examples/s: median of the rounds. times the Trainer: median, smallest and largest of the rounds' "
        "ratios. CPU seconds\n"
        "include setting up, and with --threads 1 stand fast on a busy machine. Losses and accuracy: means "
        "over the seeds. The\n"
        "bound: 6 x weights without embeddings x tokens without padding, at the rate of the fastest square "
        "matrix product\n"
        "(torch's or oneDNN's) in the same precision, measured between the rounds.",
        highlight=False,
    )


if __name__ == "__main__":
    main()
