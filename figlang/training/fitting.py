"""The fit: a prepared network in, a trained one and its history out."""

import copy
import logging
import os
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

from pytorch_lightning.utilities import rank_zero_only
from pytorch_lightning.utilities.exceptions import SIGTERMException
from torch import nn
from transformers import PreTrainedModel

from figlang.config import TrainConfig
from figlang.errors import INTERRUPTED, TERMINATED, FiglangError, damage
from figlang.runs.training import Run
from figlang.scoring.encode import padding
from figlang.training import selection, throughput, tracking
from figlang.training.base import NonFiniteLossError
from figlang.training.callbacks import Health, History, Preemption
from figlang.training.datamodule import ChoiceData
from figlang.training.embedding import restore, trim
from figlang.training.preparation import Prepared
from figlang.training.strategies import SHARDED
from figlang.training.trainer import trainer as trainer_of

log = logging.getLogger("figlang")


@dataclass(frozen=True)
class Fitted:
    """What a fit reports besides the weights. `seconds` is the time in training steps and validation, of all
    its parts.

    Tokens are those that training steps read, without padding; their rate is over the time without
    validation. `peak_memory_mb` is that of the first process in the last part; None where the system does not
    count it anew for each run of a process. `peak_share` is the least share of what matrix products reach on
    this CPU, measured after the fit (figlang/training/throughput.py); None for a short fit, on another device
    or with several processes.
    """

    items: int
    precision: str
    seconds: float
    examples_per_second: float
    tokens_per_second: float
    peak_memory_mb: float | None
    peak_share: float | None
    parameters: int
    trained: int
    steps: int
    epochs: int
    exported_epoch: int
    selection: str
    health: list[dict[str, Any]]
    history: list[tuple[int, int, str, str, float]]

    def facts(self) -> dict[str, Any]:
        """For metrics.json: everything but the curves, which are in log.csv, and the health, which stands on
        its own."""
        return {name: value for name, value in asdict(self).items() if name not in ("history", "health")}


def fit(config: TrainConfig, run: Run, ready: Prepared) -> Fitted | None:
    """Train the prepared network in place, from the run's checkpoint if it has one; of a settled
    configuration (see runtime).

    Returns None in the processes of a distributed fit that have nothing left to do.
    """
    network, method = ready.network, config.method
    counted = throughput.forget_peak()
    # Pairs are two items each, so that a step has as many items as was asked for.
    together = max(1, round(method.batch_size * len(ready.examples) / len(ready.train.items)))
    batches = ChoiceData(
        collate=ready.collate,
        train=ready.examples,
        validation=ready.validation_examples,
        selection=ready.selection_examples,
        batch_size=together,
        max_tokens=method.max_tokens,
        seed=config.seed,
    )
    steps = len(batches.buckets) * method.epochs
    parameters = sum(parameter.numel() for parameter in network.parameters())
    trained = sum(parameter.numel() for parameter in network.parameters() if parameter.requires_grad)
    whole = _trim(ready) if method.weight_decay == 0 else None
    sharded = config.trainer.strategy in SHARDED
    # Such a strategy takes a network apart for good: it gets a copy, and `network` gets the trained weights.
    fitted = copy.deepcopy(network) if sharded and rank_zero_only.rank == 0 else network
    module = ready.kind(network=fitted, method=method, score=ready.score, steps=steps, seed=config.seed)
    history = History(run.folder / "log.csv", ready.validation.items, log)
    head = [parameter for name, parameter in fitted.named_parameters() if name in ready.head]
    health = Health(history, ready.chance, head, log)
    saver = Preemption(run.checkpoint)
    trainer = trainer_of(config, run, [history, health, saver])
    # Not by what is there alone: under torchrun the first process may be about to clear the folder.
    anew = config.overwrite or config.resume == "never"
    resumed = run.checkpoint if run.checkpoint.exists() and not anew else None
    name, source, items, precision = (
        config.model.name,
        config.data.name,
        len(ready.train.items),
        config.trainer.precision,
    )
    log.info(
        "training %s on %s: %d items, %d epochs, %d steps, %s",
        name,
        source,
        items,
        method.epochs,
        steps,
        precision,
    )
    if ready.share < 1:
        log.info(
            "%s trains %.2f %% of the weights, %s of them",
            config.peft.name,
            100 * ready.share,
            f"{trained:,}",
        )
    if resumed:
        log.info("resuming from %s", resumed)
    started = perf_counter()
    try:
        trainer.fit(
            module, datamodule=batches, ckpt_path=str(resumed) if resumed else None, weights_only=True
        )
    except FiglangError:
        raise
    except NonFiniteLossError as error:
        batch = ", ".join(ready.train.items[position].id for position in error.positions)
        raise FiglangError(
            f"{error} in epoch {trainer.current_epoch + 1}, step {trainer.global_step + 1}, on items "
            f"{batch}; {run.folder} keeps "
            "the state before it. Look at these items, or lower method.lr with overwrite=true"
        ) from error
    except SystemExit as stop:  # what Lightning makes of SIGTERM and of an interruption by the keyboard
        if trainer.is_global_zero:
            kept = f"step {saver.kept}" if saver.kept else "its last whole epoch"
            log.warning("stopped; the same command continues %s after %s", run.folder, kept)
        if not isinstance(stop, SIGTERMException):
            raise SystemExit(INTERRUPTED) from stop
        # The agent of a sweep ends hopeless runs so, and would give up after some that seem to have failed.
        tracking.preempted()
        raise SystemExit(0 if "WANDB_SWEEP_ID" in os.environ else TERMINATED) from stop
    except Exception as error:  # a damaged checkpoint can fail in any way
        if resumed and not trainer.global_step:
            raise FiglangError(
                f"{resumed} cannot be resumed from ({damage(error)}); overwrite=true starts the run again"
            ) from error
        raise
    if not trainer.is_global_zero:
        return None
    epochs = trainer.current_epoch
    exported = selection.restore(network, run) if ready.selection_examples or sharded else epochs
    if whole is not None:
        restore(network, whole)
    network.to("cpu").eval()
    seconds = history.seconds or perf_counter() - started
    tokens = sum(example.tokens for example in ready.examples) * epochs
    alone = trainer.world_size == 1 and trainer.strategy.root_device.type == "cpu"
    stepping = max(seconds - history.validating, 1e-9)
    measurable = alone and stepping >= throughput.WORTH and precision in throughput.DTYPES
    memory = throughput.peak_memory() if counted else None
    return Fitted(
        items=items,
        precision=precision,
        seconds=seconds,
        examples_per_second=items * epochs / seconds,
        tokens_per_second=tokens / stepping,
        peak_memory_mb=memory,
        peak_share=throughput.work(network, tokens)
        / stepping
        / throughput.product_rate(throughput.DTYPES[precision])
        if measurable
        else None,
        parameters=parameters,
        trained=trained,
        steps=trainer.global_step,
        epochs=epochs,
        exported_epoch=exported,
        selection=method.selection,
        health=health.findings,
        history=history.rows,
    )


def _trim(ready: Prepared) -> nn.Embedding | None:
    """Leave unused embedding rows alone, where that is exact: without decay only the rows in use ever
    change."""
    if ready.manifest.input_format.causal or not isinstance(ready.network, PreTrainedModel):
        return None
    examples = (*ready.examples, *ready.validation_examples, *ready.selection_examples)
    used = {token for example in examples for ids in example.sequences for token in ids}
    # Rows are filled up with the tokenizer's token, which need not be the one that the embedding was made
    # with.
    return trim(ready.network, used | {padding(ready.tokenizer)})
