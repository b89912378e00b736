"""The fit: from a prepared network to a trained one and its history."""

import copy
import logging
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.utilities import rank_zero_only
from pytorch_lightning.utilities.exceptions import SIGTERMException
from torch import nn
from transformers import PreTrainedModel

from figlang.config import MethodConfig, TrainConfig
from figlang.errors import INTERRUPTED, TERMINATED, FiglangError, damage
from figlang.machine.faults import lacks_memory
from figlang.runs import spelled
from figlang.runs.training import Run
from figlang.scoring.encode import padding
from figlang.text.amounts import counted
from figlang.training import agreement, averaged, likelihood, near_start, saving, selection, throughput
from figlang.training.base import NonFiniteLossError
from figlang.training.callbacks import Health, History, Preemption
from figlang.training.datamodule import ChoiceData
from figlang.training.embedding import restore, trim
from figlang.training.foresight import Foresight
from figlang.training.preparation import Prepared
from figlang.training.strategies import SHARDED
from figlang.training.trackers import wandb
from figlang.training.trainer import trainer as trainer_of
from figlang.types import Split

log = logging.getLogger("figlang")


@dataclass(frozen=True)
class Fitted:
    """The report of a fit, besides the weights.

    Attributes:
        items: Number of training items.
        precision: The precision that is configured.
        seconds: Time of training steps and validation, over all parts of a resumed fit.
        examples_per_second: Items divided by `seconds`.
        tokens_per_second: Tokens that training steps read, without padding, by the seconds of these steps.
        peak_memory_mb: Largest memory of the first process in the last part, in MB. None if the system cannot
            count it separately for each fit of a process.
        expected_memory_mb: The estimate of it before the first step, in MB; on a GPU, of its memory. None for
            a short training of a small network, on other devices, or with several processes.
        peak_share: Lowest share of the speed that matrix products reach on this CPU, measured after the fit
            (figlang/training/throughput.py). None for a short fit, on another device or with several
            processes.
        parameters: Number of weights.
        trained: Number of trained weights.
        steps: Number of optimizer steps.
        epochs: Number of epochs.
        exported_epoch: The epoch whose weights are exported, counted from 1.
        selection: How the epoch was selected.
        selected: Loss and, if there are choices, accuracy of the exported epoch on the items that select, and
            the number of their groups. Empty without a selection.
        log_probs: How likely a causal model found right and wrong answers before and after. Empty for an
            encoder, and if no validation item has a label.
        health: Findings about the training.
        history: Rows of log.csv.
    """

    items: int
    precision: str
    seconds: float
    examples_per_second: float
    tokens_per_second: float
    peak_memory_mb: float | None
    expected_memory_mb: float | None
    peak_share: float | None
    parameters: int
    trained: int
    steps: int
    epochs: int
    exported_epoch: int
    selection: str
    selected: dict[str, float]
    log_probs: dict[str, Any]
    health: list[dict[str, Any]]
    history: list[tuple[int, int, str, str, float]]

    def facts(self) -> dict[str, Any]:
        """The part for metrics.json: everything but the curves and the health."""
        return {name: value for name, value in asdict(self).items() if name not in ("history", "health")}


def fit(config: TrainConfig, run: Run, ready: Prepared) -> Fitted | None:
    """Train the prepared network in place, from the run's checkpoint if it has one.

    Args:
        config: A settled configuration (see runtime).
        run: The run's folder.
        ready: The network and the encoded data.

    Returns:
        None in the processes of a distributed fit that have nothing left to do.

    Raises:
        FiglangError: If a loss is not finite, or if the checkpoint cannot be resumed from.
        SystemExit: If the fit is stopped by a signal.
    """
    network, config = ready.network, replace(config, method=saving.settled(ready.network, config.method))
    own_peak = throughput.forget_peak()
    likely = likelihood.now(config, ready)
    batches, steps = batches_of(config, ready)
    parameters, trained = _sizes(network)
    saving.begin(network, config.method)
    sharded, whole = config.trainer.strategy in SHARDED, _trim(ready, config.method)
    fitted = _fitted(network, sharded)
    module = ready.kind(fitted, config.method, ready.score, steps, config.seed, config.peft.lr_ratio)
    history = History(run.folder / "log.csv", ready.validation.items, log, _called(ready))
    health = Health(history, ready.chance, _head(fitted, ready), log)
    saver, foresight = Preemption(run.checkpoint), Foresight(config, batches)
    trainer = trainer_of(config, run, [*_guiding(config.method, fitted), foresight, history, health, saver])
    resumed = _announce(config, run, ready, steps, trained)
    started = perf_counter()
    with foresight.explained(trainer, module):
        _run(trainer, module, batches, resumed, run, saver, ready.train)
    if not trainer.is_global_zero:
        return None
    epochs = trainer.current_epoch
    exported = _take_exported(ready, run, epochs, sharded, whole)
    seconds = history.seconds or perf_counter() - started
    stepping = max(seconds - history.validating, 1e-9)
    tokens = batches.tokens() * epochs
    peak = throughput.peak_memory() if own_peak else None  # before products are measured, which need some
    return Fitted(
        items=len(ready.train.items),
        precision=config.trainer.precision,
        seconds=seconds,
        examples_per_second=len(ready.train.items) * epochs / seconds,
        tokens_per_second=tokens / stepping,
        peak_memory_mb=peak,
        expected_memory_mb=foresight.expected_mb,
        peak_share=_peak_share(trainer, network, tokens, stepping, config.trainer.precision),
        parameters=parameters,
        trained=trained,
        steps=trainer.global_step,
        epochs=epochs,
        exported_epoch=exported,
        selection=config.method.selection,
        selected=_selected(history.rows, exported, ready),
        log_probs=likelihood.displaced(config, ready, likely, health, exported),
        health=health.findings,
        history=history.rows,
    )


def _selected(
    rows: Sequence[tuple[int, int, str, str, float]], exported: int, ready: Prepared
) -> dict[str, float]:
    """The measures of the exported epoch (counted from 1) on the items by which it was selected."""
    values = {
        metric: value
        for _, epoch, split, metric, value in rows
        if (split, epoch) == ("selection", exported - 1)
    }
    return {**values, "groups": ready.selection_groups} if values else {}


def _sizes(network: nn.Module) -> tuple[int, int]:
    """The number of weights, and of those that are trained."""
    weights = list(network.parameters())
    return (
        sum(weight.numel() for weight in weights),
        sum(weight.numel() for weight in weights if weight.requires_grad),
    )


def _fitted(network: nn.Module, sharded: bool) -> nn.Module:
    """The network that the trainer gets.

    A sharded strategy takes a network apart for good: it gets a copy, and `network` gets the trained weights.
    """
    return copy.deepcopy(network) if sharded and rank_zero_only.rank == 0 else network


def _take_exported(ready: Prepared, run: Run, epochs: int, sharded: bool, whole: nn.Embedding | None) -> int:
    """Give the network the weights that are exported, with its `whole` embedding, on the CPU.

    Returns:
        Their epoch, from 1.
    """
    exported = selection.restore(ready.network, run) if ready.selection_examples or sharded else epochs
    if whole is not None:
        restore(ready.network, whole)
    saving.end(ready.network)
    ready.network.to("cpu").eval()
    return exported


def take_best(config: TrainConfig, run: Run, ready: Prepared) -> int:
    """Give a network that was prepared for a run the weights of the run's best epoch so far.

    Args:
        config: The options of the training.
        run: Its folder.
        ready: What it trains.

    Returns:
        The epoch, from 1.
    """
    return _take_exported(ready, run, config.method.epochs, True, _trim(ready, config.method))


def batches_of(config: TrainConfig, ready: Prepared) -> tuple[ChoiceData, int]:
    """The batches of the fit, and its number of optimizer steps."""
    method = config.method
    # Pairs are two items each, so that a step has as many items as was asked for.
    together = max(1, round(method.batch_size * len(ready.examples) / len(ready.train.items)))
    shares = ready.manifest.input_format.bare and method.share_texts  # dual
    batches = ChoiceData(
        collate=ready.collate,
        train=likelihood.referenced(config, ready),
        validation=ready.validation_examples,
        selection=ready.selection_examples,
        batch_size=together,
        max_tokens=method.max_tokens,
        seed=config.seed,
        groups=[item.group for item in ready.train.items] if shares else None,
        uncut=method.accumulate != "1",
    )
    return batches, len(batches.buckets) * method.epochs


def _called(ready: Prepared) -> str:
    return spelled.split_in_words("validation", ready.validation.name)


def _announce(config: TrainConfig, run: Run, ready: Prepared, steps: int, trained: int) -> Path | None:
    """Log what is trained, and find the checkpoint to resume from."""
    # debug=fast takes such a network whatever model= names, and its numbers mean nothing.
    tiny = " (a tiny network of random weights, model.init=tiny)" if config.model.init == "tiny" else ""
    log.info(
        "training %s%s on %s: %s, %s, %s, %s",
        config.model.name,
        tiny,
        config.data.name,
        counted(len(ready.train.items), "item"),
        counted(config.method.epochs, "epoch"),
        counted(steps, "step"),
        config.trainer.precision,
    )
    if ready.share < 1:
        share = 100 * ready.share
        log.info("%s trains %.2f %% of the weights, %s of them", config.peft.name, share, f"{trained:,}")
    if low := agreement.low_rate(config):
        log.warning(low)
    # Under torchrun the first process may be about to clear the folder.
    anew = config.overwrite or config.resume == "never"
    if not run.checkpoint.exists() or anew:
        return None
    log.info("resuming from %s", run.checkpoint)
    return run.checkpoint


def _guiding(method: MethodConfig, network: nn.Module) -> list[Callback]:
    return [*near_start.callbacks(method, network), *averaged.callbacks(method)]


def _head(network: nn.Module, ready: Prepared) -> list[nn.Parameter]:
    return [parameter for name, parameter in network.named_parameters() if name in ready.head]


def _run(
    trainer: Trainer,
    module: LightningModule,
    batches: ChoiceData,
    resumed: Path | None,
    run: Run,
    saver: Preemption,
    train: Split,
) -> None:
    """Lightning's fit, whose errors become one line each."""
    try:
        trainer.fit(
            module, datamodule=batches, ckpt_path=str(resumed) if resumed else None, weights_only=True
        )
        if saver.asked:  # after the last step, when nothing looks for a signal any more
            raise SIGTERMException
    except FiglangError:
        raise
    except NonFiniteLossError as error:
        batch = ", ".join(train.items[position].id for position in error.positions)
        raise FiglangError(
            f"{error} in epoch {trainer.current_epoch + 1}, step {trainer.global_step + 1}, on items "
            f"{batch}; {run.folder} keeps the state before it. Look at these items, or lower method.lr with "
            "overwrite=true"
        ) from error
    except SystemExit as stop:  # Lightning's answer to SIGTERM and to an interruption by the keyboard
        if trainer.is_global_zero:
            kept = f"step {saver.kept}" if saver.kept else "its last whole epoch"
            log.warning("stopped; the same command continues %s after %s", run.folder, kept)
        if saver.keyboard or not isinstance(stop, SIGTERMException):
            raise SystemExit(INTERRUPTED) from stop
        # A sweep's agent ends hopeless runs this way. It would give up after some that seem to have failed.
        wandb.preempted()
        raise SystemExit(0 if "WANDB_SWEEP_ID" in os.environ else TERMINATED) from stop
    except Exception as error:  # a damaged checkpoint can fail in any way
        if resumed and not trainer.global_step and not lacks_memory(error):
            raise FiglangError(
                f"{resumed} cannot be resumed from ({damage(error)}); overwrite=true starts the run again"
            ) from error
        raise


def _peak_share(
    trainer: Trainer, network: nn.Module, tokens: int, seconds: float, precision: str
) -> float | None:
    """The share of the speed of matrix products that the training steps reached, see Fitted."""
    alone = trainer.world_size == 1 and trainer.strategy.root_device.type == "cpu"
    if not alone or seconds < throughput.WORTH or precision not in throughput.DTYPES:
        return None
    rate = throughput.product_rate(throughput.DTYPES[precision])
    return throughput.work(network, tokens) / seconds / rate


def _trim(ready: Prepared, method: MethodConfig) -> nn.Embedding | None:
    """Leave unused embedding rows out if that is exact: without decay, only rows in use change.

    Returns:
        The whole embedding; None if it was not trimmed.
    """
    causal = ready.manifest.input_format.causal
    if causal or method.weight_decay != 0 or not isinstance(ready.network, PreTrainedModel):
        return None
    examples = (
        *(*ready.examples, *ready.validation_examples),
        *(*ready.selection_examples, *ready.anchor_examples),
    )
    used = {token for example in examples for ids in example.sequences for token in ids}
    # Rows are padded with the tokenizer's token, which may differ from the embedding's.
    return trim(ready.network, used | {padding(ready.tokenizer)})
