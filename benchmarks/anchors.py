"""What each anchor of contrastive training keeps, and what it costs in accuracy.

`python benchmarks/anchors.py --data DIR --output FILE.csv`. SmolLM2 with adapters, both directions, one
epoch of Fig-QA medium without 100 of its pairs, which are held out. Nothing is measured on dev. Each row has
the held-out pairs' accuracy, the log-probability a token of their right and wrong answers, and that of texts
of WinoGrande that no anchor reads. A row is written when it is there, and the same command goes on with those
that are missing. `--items N` trains on the first N items only. `--rows lm=0.3 kl=1` measures these rows only.
It computes on a GPU if there is one. `--machine` says in a few words what computes.
"""

import argparse
import csv
from dataclasses import replace
from datetime import date
from functools import partial
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import torch
from lightning_fabric.utilities import move_data_to_device
from pytorch_lightning import Trainer
from torch import Tensor

from figlang.config import TrainConfig
from figlang.config.composing import compose
from figlang.evaluation import runtime
from figlang.scoring.tree.branching import EncodedStrings, StringScorer
from figlang.tasks.registry import for_training
from figlang.training import displacement
from figlang.training.anchored import AnchoredModule
from figlang.training.cross_entropy import CrossEntropyModule
from figlang.training.datamodule import ChoiceData
from figlang.training.held_out import select
from figlang.training.preparation import Prepared, prepare

WORDS = [
    *("model=smollm2", "data=figqa_medium", "peft=lora", "method.lr=3e-4", "method.batch_size=16"),
    *("method.epochs=1", "method.direction=both", "trainer.precision=bf16-mixed"),
]
HELD = 100  # pairs
UNREAD = 64  # texts
# The weights in the middle first, so that a benchmark that is stopped has said the most.
ROWS = [
    ("none", 0.0),
    *((anchor, weight) for weight in (1.0, 0.3, 3.0, 0.1, 10.0) for anchor in ("lm", "kl", "positive")),
]


class Measured:
    """The network as it begins, and what is measured of it.

    Args:
        words: The settings.
        items: The number of training items; 0 for all.
    """

    def __init__(self, words: list[str], items: int) -> None:
        config = runtime.settled(compose("train", TrainConfig, [*words, "method.anchor=kl"]))
        runtime.start(config.seed, config.trainer)
        torch.set_num_threads(1)
        train, validation = for_training(config.data, config.paths)
        pairs = len({item.group for item in train.items})
        holding = replace(config.method, selection="heldout", held_out=HELD / pairs)
        kept, held, _ = select(holding, train, validation, config.seed)
        chosen = replace(train, items=kept[: items or len(kept)])
        self.config, self.sha256 = config, train.sha256
        self.ready: Prepared = prepare(config, chosen, replace(validation, items=held))
        self.near = self.ready.kind.keywords["near"]
        examples = self.near.keywords["examples"]
        self.read, self.unread = examples[:-UNREAD], examples[-UNREAD:]
        self.device = runtime.device(config.trainer)
        self.ready.network.to(self.device)
        self.start = self._trained()
        self.base = self.numbers()

    def _trained(self) -> dict[str, Tensor]:
        parameters = self.ready.network.named_parameters()
        return {name: each.detach().clone() for name, each in parameters if each.requires_grad}

    @property
    def score(self) -> StringScorer:
        return cast(StringScorer, self.ready.score)

    @torch.no_grad()
    def numbers(self) -> dict[str, float]:
        """What is measured of the network now."""
        # Lightning leaves a network on the CPU.
        network, score, collate = self.ready.network.to(self.device).eval(), self.score, self.ready.collate
        gold, wrong, texts, groups = [], [], [], dict[str, list[bool]]()
        with torch.autocast(self.device.type, torch.bfloat16):
            for part in _parts(self.ready.validation_examples):
                batch = move_data_to_device(collate(part), self.device)
                log_probs_S = score.log_probs(network, batch)
                means_BC = score.means(log_probs_S, batch)
                right_B = score.scores(log_probs_S, batch).argmax(1) == batch.gold
                rows = zip(batch.positions, means_BC.tolist(), batch.gold.tolist(), right_B, strict=True)
                for position, means, place, right in rows:
                    groups.setdefault(self.ready.validation.items[position].group, []).append(bool(right))
                    gold.append(means.pop(place))
                    wrong += means
            for part in _parts(self.unread):
                texts += score.log_probs(network, move_data_to_device(collate(part), self.device)).tolist()
        answers = [each for pair in groups.values() for each in pair]
        return {
            "accuracy": 100 * sum(answers) / len(answers),
            "pairs": 100 * sum(all(pair) for pair in groups.values()) / len(groups),
            "right answers": sum(gold) / len(gold),
            "wrong answers": sum(wrong) / len(wrong),
            "other texts": sum(texts) / len(texts),
        }

    def train(self, anchor: str, weight: float) -> dict[str, float]:
        """Train from the start with an anchor, and measure."""
        ready, config = self.ready, self.config
        ready.network.to(self.device)
        with torch.no_grad():
            for name, each in ready.network.named_parameters():
                if name in self.start:
                    each.copy_(self.start[name])
        method = replace(config.method, anchor=anchor, anchor_weight=weight)
        examples = list(ready.examples)
        if anchor == "positive":
            examples = displacement.with_reference(ready.network, self.score, examples, ready.collate)
        size = max(1, round(method.batch_size * len(examples) / len(ready.train.items)))
        data = ChoiceData(ready.collate, examples, (), (), size, None, config.seed)
        kinds: dict[str, Any] = {
            "none": CrossEntropyModule,
            "kl": partial(CrossEntropyModule, near=partial(self.near, examples=self.read)),
        }
        kind = kinds.get(anchor, AnchoredModule)
        module = kind(ready.network, method, self.score, len(data.buckets), config.seed)
        trainer = Trainer(
            **{
                "accelerator": self.device.type,
                "devices": 1,
                "max_epochs": 1,
                "precision": "bf16-mixed",
                "num_sanity_val_steps": 0,
            },
            **{"logger": False, "enable_checkpointing": False, "enable_progress_bar": False},
            enable_model_summary=False,
        )
        trainer.fit(module, datamodule=data)
        return self.numbers()


def _parts(examples: Any) -> list[list[EncodedStrings]]:
    return [list(examples[start : start + 8]) for start in range(0, len(examples), 8)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", required=True, help="folder with the data sets")
    parser.add_argument("--output", required=True, help="CSV file to which rows are added")
    parser.add_argument("--items", type=int, default=0, help="number of training items (default: all)")
    parser.add_argument("--rows", nargs="+", metavar="ANCHOR=WEIGHT", help="rows to measure (default: all)")
    parser.add_argument("--machine", default="one thread of a busy machine, bf16", help="what computes")
    options = parser.parse_args()
    output = Path(options.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    there = list(csv.DictReader(output.open(encoding="utf-8", newline=""))) if output.is_file() else []
    measured = Measured([*WORDS, f"paths.data={options.data}"], options.items)
    items = str(len(measured.ready.train.items))
    done = {(row["anchor"], row["weight"]) for row in there if row["training items"] in (items, "0")}
    wanted = [("untrained", 0.0), *ROWS]
    if options.rows:
        wanted = [row for row in wanted if f"{row[0]}={row[1]:g}" in options.rows]
    for anchor, weight in wanted:
        shown = f"{weight:g}" if weight else ""
        if (anchor, shown) in done:
            continue
        began = perf_counter()
        numbers = measured.base if anchor == "untrained" else measured.train(anchor, weight)
        row = {
            "anchor": anchor,
            "weight": shown,
            "training items": "0" if anchor == "untrained" else items,
            **{name: f"{value:.{1 if value >= 0 else 2}f}" for name, value in numbers.items()},
            "seconds": "" if anchor == "untrained" else f"{perf_counter() - began:.0f}",
            "command": " ".join(
                ["python benchmarks/anchors.py --data DIR --output FILE.csv", *_asked(options.items)]
            ),
            "seed": measured.config.seed,
            "data": f"figqa_medium @{measured.sha256[:8]}",
            "figlang": version("figlang"),
            "machine": options.machine,
            "recorded": f"benchmarks/anchors.py, {date.today()}",
            "note": f"figlang train {' '.join(WORDS)}, on pairs that are not held out",
        }
        print(*row.values(), sep=", ", flush=True)
        new = not output.is_file()
        with output.open("a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(row), lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(row)


def _asked(items: int) -> list[str]:
    return [f"--items {items}"] if items else []


if __name__ == "__main__":
    main()
