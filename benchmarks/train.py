"""Training speed beside the Hugging Face Trainer: `python benchmarks/train.py --data ../shared/data`.

Both train the same pretrained MiniLM with a multiple-choice head on the same tokenised items of Fig-QA medium, with the
same batch size, learning rate, schedule, clipping, precision and number of threads. figlang runs `figlang.runtime.fit`;
the Trainer runs as in its multiple-choice recipe, everything not named above at its default, without logging, saving
and evaluation. Rounds are interleaved and have a seed each. Timed are the epochs alone: neither loading nor tokenising
nor building the optimizer, on either side.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
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

from figlang import data, runtime
from figlang.command import compose
from figlang.config import TrainConfig
from figlang.encode import Encoded, Encoder
from figlang.evaluation import encode_all, predict
from figlang.metrics import accuracy
from figlang.models import networks
from figlang.runs import Run
from figlang.scoring.head import scorer
from figlang.types import Split

PRECISIONS = {"bf16": ("bf16-mixed", torch.bfloat16), "float32": ("32-true", torch.float32)}
SIZES = (1024, 2048, 4096)


@dataclass(frozen=True)
class Fit:
    """One training: seconds of its epochs, the loss of (some of) its steps in order, accuracy afterwards."""

    seconds: float
    losses: list[float]
    accuracy: float


@dataclass(frozen=True)
class Setting:
    """What both sides share: the configuration, the items and how to tell how good a network is."""

    config: TrainConfig
    train: Sequence[Encoded]
    few: tuple[Split, Sequence[Encoded]]
    encoder: Encoder
    quality: Callable[[PreTrainedModel], float]


class Stopwatch(TrainerCallback):
    """Seconds within epochs, as `figlang.callbacks.History` counts them."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def on_epoch_begin(self, *_: Any, **__: Any) -> None:
        self.started = time.perf_counter()

    def on_epoch_end(self, *_: Any, **__: Any) -> None:
        self.seconds += time.perf_counter() - self.started


class Keeping(Trainer):
    """A Trainer that keeps the loss of every step; nothing else is changed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.losses: list[torch.Tensor] = []

    def training_step(self, *arguments: Any, **options: Any) -> torch.Tensor:
        loss = super().training_step(*arguments, **options)
        self.losses.append(loss.detach())
        return loss


def figlang(setting: Setting) -> Fit:
    """A training through figlang's own door."""
    config = setting.config
    runtime.start(config.seed, config.trainer)
    network, _ = networks.build(config.model, "pair", [], 2)
    with tempfile.TemporaryDirectory() as folder:
        fitted = runtime.fit(config, Run(Path(folder)), network, setting.encoder, setting.train, setting.few)
    losses = [row[4] for row in fitted.history if row[2:4] == ("train", "step_loss")]
    return Fit(fitted.seconds, losses, setting.quality(network))


def hugging_face(setting: Setting) -> Fit:
    """The same training with the Trainer."""
    config, method = setting.config, setting.config.method
    set_seed(config.seed)
    rows = [
        {
            "input_ids": list(example.sequences),
            "attention_mask": [[1] * len(ids) for ids in example.sequences],
            "token_type_ids": list(example.segments or ()),
            "label": example.gold,
        }
        for example in setting.train
    ]
    watch = Stopwatch()
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
        network = AutoModelForMultipleChoice.from_pretrained(networks.locate(config.model.name_or_path))
        trainer = Keeping(
            model=network,
            args=arguments,
            train_dataset=rows,
            data_collator=DataCollatorForMultipleChoice(setting.encoder.tokenizer),
            callbacks=[watch],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return Fit(watch.seconds, [float(loss) for loss in trainer.losses], setting.quality(network))


def matmul_rate(dtype: torch.dtype, size: int, repeats: int = 5) -> float:
    """Floating-point operations per second of a square product, median."""
    left, right = (torch.randn(size, size).to(dtype) for _ in range(2))
    seconds = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        left @ right
        seconds.append(time.perf_counter() - started)
    return 2 * size**3 / median(seconds[1:])


def prepare(options: argparse.Namespace, precision: str, batch_size: int, seed: int) -> Setting:
    """The configuration as the command line would compose it, and the items."""
    config = compose(
        "train",
        TrainConfig,
        [
            *("model=minilm", "data=figqa_medium", f"paths.data={options.data}", f"seed={seed}", f"method.epochs={options.epochs}"),
            *("method.format=pair", f"method.batch_size={batch_size}", f"trainer.precision={PRECISIONS[precision][0]}"),
            *("trainer.accelerator=cpu", f"trainer.threads={options.threads}", "trainer.progress=false"),
        ],
    )
    runtime.start(seed, config.trainer)
    train, validation = data.for_training(config.data, config.paths)
    _, tokenizer = networks.build(config.model, "pair", [], 2)
    encoder = Encoder(tokenizer, "pair", config.method.text, config.model.max_length)
    encoded, _ = encode_all(encoder, train.items)
    # fit validates after every epoch and the Trainer here does not, so fit gets the smallest validation set there is.
    few = Split(validation.name, validation.items[:2], validation.source, validation.sha256)

    def quality(network: PreTrainedModel) -> float:
        estimate = accuracy(predict(network, scorer("pair", 1.0), encoder, validation.items))
        return estimate.value if estimate else float("nan")

    return Setting(config, encoded, (few, encode_all(encoder, few.items)[0]), encoder, quality)


def compare(options: argparse.Namespace, precision: str, batch_size: int, table: Table) -> None:
    """All rounds of one precision and batch size, as two rows of the table."""
    fits: dict[str, list[Fit]] = {"figlang": [], "HF Trainer": []}
    rates: dict[int, list[float]] = {size: [] for size in SIZES}
    for seed in range(options.rounds):
        setting = prepare(options, precision, batch_size, seed)
        sides = [("figlang", figlang), ("HF Trainer", hugging_face)]
        for name, side in sides if seed % 2 == 0 else reversed(sides):
            fits[name].append(side(setting))
        for size in SIZES:
            rates[size].append(matmul_rate(PRECISIONS[precision][1], size))
    rate = max(median(values) for values in rates.values())
    whole = AutoModelForMultipleChoice.from_pretrained(networks.locate(setting.config.model.name_or_path))
    weights = sum(weight.numel() for name, weight in whole.named_parameters() if "embeddings" not in name)
    work = 6 * weights * sum(example.tokens for example in setting.train) * options.epochs
    ratios = [theirs.seconds / ours.seconds for ours, theirs in zip(*fits.values(), strict=True)]
    for name, rounds in fits.items():
        seconds = median(fit.seconds for fit in rounds)
        table.add_row(
            f"{precision}, {batch_size} items",
            name,
            f"{len(setting.train) * options.epochs / seconds:.0f}",
            f"{median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})" if name == "figlang" else "1",
            f"{_mean([_mean(fit.losses) for fit in rounds]):.4f}",
            f"{_mean([_mean(fit.losses[-max(1, len(fit.losses) // 5) :]) for fit in rounds]):.4f}",
            f"{_mean([fit.accuracy for fit in rounds]):.3f}",
            f"{work / seconds / rate:.1%} of {rate / 1e9:.0f} GFLOP/s",
        )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("FIGLANG_DATA", "../shared/data"), help="folder of the data sets")
    parser.add_argument("--batch-size", type=int, nargs="+", default=[8], help="items per step (8)")
    parser.add_argument("--precision", nargs="+", choices=list(PRECISIONS), default=list(PRECISIONS), help="both by default")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3, help="each trains both sides with a seed of its own (3)")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    table = Table(title=f"Fig-QA medium, MiniLM, {options.epochs} epoch(s), {options.rounds} seeds, {options.threads} threads")
    for heading in ("setting", "", "examples/s", "times the Trainer", "loss, all", "last fifth", "dev accuracy", "of the bound"):
        table.add_column(heading)
    for precision in options.precision:
        for batch_size in options.batch_size:
            compare(options, precision, batch_size, table)
    console = Console(width=max(132, Console().width))
    console.print(table)
    console.print(
        "examples/s: median of the rounds. times the Trainer: median, smallest and largest of the rounds' ratios. Losses and\n"
        "accuracy: means over the seeds. The bound: 6 x weights without embeddings x tokens without padding, at the rate of\n"
        "the fastest square matrix product in the same precision, measured between the rounds.",
        highlight=False,
    )


if __name__ == "__main__":
    main()
