"""The sides of the benchmark of trainings, each in a process of its own: figlang, and what people run today.

All train the same items from the same weights for one epoch at the same batch size, rate, schedule, clipping,
precision and adapters. What a side does not share with figlang is at its own default.
"""

import os
import random
import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMultipleChoice,
    AutoTokenizer,
    DataCollatorForMultipleChoice,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    get_scheduler,
    set_seed,
)
from transformers.utils.logging import disable_progress_bar, set_verbosity_error

from figlang.config import PromptConfig, TrainConfig
from figlang.cpu.memory import keep_freed_memory
from figlang.cpu.unpadded import of_first_tokens
from figlang.evaluation import runtime
from figlang.models import checkpoint, networks
from figlang.models.weights import locate
from figlang.runs.training import Run
from figlang.scoring.requests import RequestEncoder
from figlang.scoring.tree.branching import StringBatch, StringEncoder
from figlang.scoring.wording import Wording
from figlang.tasks.registry import for_training
from figlang.training import fitting, throughput
from figlang.training.callbacks import History
from figlang.training.preparation import prepare
from figlang.types import Item

KEYS_AND_VALUES = re.compile(r"\.(key|value|attn\.[kv])\b")  # of all tokens, in BERT and MPNet


@dataclass(frozen=True)
class Training:
    """One epoch: seconds, CPU seconds, the largest memory of its process in MB (None if it cannot be
    counted), and of figlang the tokens that were read and the operations that they need."""

    seconds: float
    cpu: float
    memory: float | None
    tokens: int = 0
    work: float = 0.0


class Clock:
    """Time and CPU time within epochs."""

    def __init__(self) -> None:
        self.seconds = self.cpu = 0.0

    def start(self) -> None:
        self.seconds -= time.perf_counter()
        self.cpu -= time.process_time()

    def stop(self) -> None:
        self.seconds += time.perf_counter()
        self.cpu += time.process_time()


class Watch(TrainerCallback):
    """The clock of a Trainer."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def on_epoch_begin(self, *_: Any, **__: Any) -> None:
        self.clock.start()

    def on_epoch_end(self, *_: Any, **__: Any) -> None:
        self.clock.stop()


def figlang(config: TrainConfig) -> Training:
    """figlang's training, through its own door."""
    keep_freed_memory()  # as its commands do
    runtime.start(config.seed, config.trainer)
    ready = prepare(config, *for_training(config.data, config.paths))
    # The others do not validate, so this one gets the smallest validation set there is.
    few = replace(ready.validation, items=ready.validation.items[:2])
    alone = replace(ready, validation=few, validation_examples=ready.validation_examples[:2])
    clock = Clock()

    class Timed(History):
        def on_train_epoch_start(self, *arguments: Any) -> None:
            super().on_train_epoch_start(*arguments)
            clock.start()

        def on_train_epoch_end(self, *arguments: Any) -> None:
            clock.stop()
            super().on_train_epoch_end(*arguments)

    tokens = fitting.batches_of(config, alone)[0].tokens()
    work = throughput.work(alone.network, tokens) - throughput.work(_spared(alone.network), tokens)
    counted = throughput.forget_peak()
    with tempfile.TemporaryDirectory() as folder, patch.object(fitting, "History", Timed):
        fitting.fit(config, Run(Path(folder)), alone)
    return Training(clock.seconds, clock.cpu, throughput.peak_memory() if counted else None, tokens, work)


def _spared(network: nn.Module) -> nn.ModuleList:
    """The linear parts of the last layer that figlang computes for first tokens alone."""
    bases = [base for head in network.modules() if (base := of_first_tokens(head)) is not None]
    return nn.ModuleList(
        part
        for base in bases
        for name, part in base.encoder.layer[-1].named_modules()
        if type(part) is nn.Linear and not KEYS_AND_VALUES.search(name)
    )


def trainer(config: TrainConfig) -> Training:
    """The Trainer of transformers, by its recipe for multiple choice, with any adapters by peft."""
    _quiet(config)
    ready = prepare(config, *for_training(config.data, config.paths))
    rows = [
        {
            "input_ids": list(example.sequences),
            "attention_mask": [[1] * len(ids) for ids in example.sequences],
            "label": example.gold,
            **({} if example.segments is None else {"token_type_ids": list(map(list, example.segments))}),
        }
        for example in ready.examples
    ]
    network = AutoModelForMultipleChoice.from_pretrained(locate(config.model.name_or_path))
    heads = networks.head_modules(network)
    if config.peft.name != "none":
        network = get_peft_model(network, _adapters(config, exclude_modules=heads, modules_to_save=heads))
    collator = DataCollatorForMultipleChoice(ready.tokenizer)
    return _fit(
        config,
        TrainingArguments,
        lambda **given: Trainer(model=network, train_dataset=rows, data_collator=collator, **given),
    )


def mnrl(config: TrainConfig) -> Training:
    """sentence-transformers' trainer with MultipleNegativesRankingLoss on triplets of the same items."""
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    _quiet(config)
    model = SentenceTransformer(str(locate(config.model.name_or_path)), device="cpu")
    if config.peft.name != "none":
        model.add_adapter(_adapters(config, exclude_modules=["pooler.dense"]))
    triplets = Dataset.from_list(
        [
            {"anchor": item.context, "positive": item.options[gold], "negative": item.options[1 - gold]}
            for item, gold in _labelled(config)
        ]
    )
    return _fit(
        config,
        SentenceTransformerTrainingArguments,
        lambda **given: SentenceTransformerTrainer(
            model=model, train_dataset=triplets, loss=MultipleNegativesRankingLoss(model), **given
        ),
    )


def dpo(config: TrainConfig) -> Training:
    """TRL's DPO, whose reference is the network without its adapters."""
    from trl import DPOConfig, DPOTrainer

    return _preferred(config, DPOTrainer, DPOConfig)


def simpo(config: TrainConfig) -> Training:
    """TRL's SimPO, which needs no reference."""
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    from trl.experimental.cpo import CPOConfig, CPOTrainer

    return _preferred(config, CPOTrainer, CPOConfig, loss_type="simpo", cpo_alpha=0.0)


def _preferred(config: TrainConfig, kind: Any, settings: Any, **options: Any) -> Training:
    _quiet(config)
    folder = str(locate(config.model.name_or_path))
    network, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    rows = Dataset.from_list(
        [
            {
                "prompt": item.context,
                "chosen": f" {item.options[gold]}",
                "rejected": f" {item.options[1 - gold]}",
            }
            for item, gold in _labelled(config)
        ]
    )
    adapters = _adapters(config, task_type="CAUSAL_LM") if config.peft.name != "none" else None
    return _fit(
        config,
        settings,
        lambda **given: kind(
            model=network, train_dataset=rows, processing_class=tokenizer, peft_config=adapters, **given
        ),
        gradient_checkpointing=False,  # TRL's default, which would do the work twice
        **options,
    )


def loop(config: TrainConfig) -> Training:
    """A plain loop of torch over figlang's strings and loss: each string is padded and read whole, with the
    logits of all its tokens."""
    _quiet(config)
    method, folder = config.method, str(locate(config.model.name_or_path))
    network, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    bos = checkpoint.beginning(config.model, config.scoring, tokenizer)
    items = [item for item, _ in _labelled(config)]
    wording = Wording(config.scoring, PromptConfig(), items[0].cut)
    encoder = StringEncoder(RequestEncoder(tokenizer, bos, "error", None), wording, sharing=False)
    examples = encoder.encode_pairs(items) if method.direction == "both" else encoder.encode(items)
    if config.peft.name != "none":
        network = get_peft_model(network, _adapters(config, task_type="CAUSAL_LM"))
    random.Random(config.seed).shuffle(examples)
    together = round(method.batch_size * len(examples) / len(items))
    starts = range(0, len(examples), together)
    optimizer = torch.optim.AdamW(network.parameters(), method.lr, weight_decay=method.weight_decay)
    schedule = get_scheduler("linear", optimizer, round(method.warmup * len(starts)), len(starts))
    half, clock, counted = config.trainer.precision == "bf16-mixed", Clock(), throughput.forget_peak()
    network.train()
    clock.start()
    for start in starts:
        batch = encoder.collate(examples[start : start + together])
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            logits_NTV = network(**batch.inputs).logits
        loss = cross_entropy(scores(logits_NTV, batch), batch.gold)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(network.parameters(), method.clip)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    clock.stop()
    return Training(clock.seconds, clock.cpu, throughput.peak_memory() if counted else None)


def scores(logits_NTV: Tensor, batch: StringBatch) -> Tensor:
    """Scores of the options, (B, C), from the logits of all tokens of a batch."""
    log_probs_NTV = logits_NTV.float().log_softmax(-1)
    log_probs_S = log_probs_NTV.flatten(0, 1)[batch.states[batch.predictors], batch.tokens]
    scores_G = torch.zeros_like(batch.weights).index_add(0, batch.strings, log_probs_S) * batch.weights
    return scores_G[batch.option_strings]


def _fit(config: TrainConfig, settings: Any, make: Callable[..., Any], **options: Any) -> Training:
    """One epoch by a trainer of transformers' kind."""
    method, clock = config.method, Clock()
    with tempfile.TemporaryDirectory() as folder:
        arguments = settings(
            output_dir=folder,
            use_cpu=True,
            bf16=config.trainer.precision == "bf16-mixed",
            per_device_train_batch_size=method.batch_size,
            num_train_epochs=1,
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
            **options,
        )
        made = make(args=arguments, callbacks=[Watch(clock)])
        made.remove_callback(PrinterCallback)
        counted = throughput.forget_peak()
        made.train()
    return Training(clock.seconds, clock.cpu, throughput.peak_memory() if counted else None)


def _labelled(config: TrainConfig) -> list[tuple[Item, int]]:
    items = for_training(config.data, config.paths)[0].items
    return [(item, item.gold) for item in items if item.gold is not None]


def _adapters(config: TrainConfig, **options: Any) -> LoraConfig:
    peft = config.peft
    targets = "all-linear" if peft.target_modules == "auto" else peft.target_modules
    return LoraConfig(
        r=peft.r, lora_alpha=peft.alpha, lora_dropout=peft.dropout, target_modules=targets, **options
    )


def _quiet(config: TrainConfig) -> None:
    torch.set_num_threads(config.trainer.threads or 1)
    disable_progress_bar()
    set_verbosity_error()
    set_seed(config.seed)


SIDES: dict[str, Callable[[TrainConfig], Training]] = {
    "figlang": figlang,
    "Trainer": trainer,
    "sentence-transformers": mnrl,
    "TRL DPO": dpo,
    "TRL SimPO": simpo,
    "plain loop": loop,
}
