"""Training: from a configuration to everything a fit needs, and the fit."""

import logging
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any, cast

from peft import PeftModel
from torch import nn
from transformers import PreTrainedModel

from figlang import runtime
from figlang.callbacks import Health, History
from figlang.checkpoint import Recipe
from figlang.config import TrainConfig
from figlang.data.datamodule import ChoiceData
from figlang.encode import Encoded, Encoder
from figlang.errors import FiglangError, one_line
from figlang.evaluation import encode_all
from figlang.models import lora, networks
from figlang.models.contrastive import ContrastiveModule
from figlang.models.embedding import restore, trim
from figlang.runs import Run
from figlang.runs import recipe as recipe_of
from figlang.signature import digest
from figlang.types import Split

log = logging.getLogger("figlang")


@dataclass(frozen=True)
class Prepared:
    """Data, network and encoder of a run. `notes` are sentences about the data, for the log and metrics.json."""

    train: Split
    validation: Split
    network: PreTrainedModel | PeftModel
    encoder: Encoder
    encoded_train: list[Encoded]
    encoded_validation: list[Encoded]
    recipe: Recipe
    notes: list[str]


def check(config: TrainConfig) -> None:
    """Raises FiglangError for a kind of network that no way of training takes."""
    model, method = config.model, config.method
    if model.family == "causal":
        raise FiglangError(
            f"model={model.name} is a causal model, and method={method.name} trains encoders; "
            f"`python evaluate.py model={model.name} scoring=clean` evaluates it zero-shot"
        )


def prepare(config: TrainConfig, train: Split, validation: Split) -> Prepared:
    """Build the network with its adapters and tokenise once.

    Everything that can be wrong with a configuration is found here, before a run folder is touched.
    """
    model, method = config.model, config.method
    items = (*train.items, *validation.items)
    options = max(len(item.options) for item in items)
    texts = [text for item in items for text in (item.context, *item.options)]
    network, tokenizer = networks.build(model, method.format, texts, options)
    encoder = Encoder(tokenizer, method.format, method.text, model.max_length)
    encoded_train, train_notes = encode_all(encoder, train.items)
    encoded_validation, validation_notes = encode_all(encoder, validation.items)
    recipe = Recipe(
        name=model.name,
        base=networks.describe(model),
        method=method.name if config.peft.name == "none" else f"{method.name}+{config.peft.name}",
        format=method.format,
        text=method.text,
        max_length=model.max_length,
        scale=method.scale,
        options=options,
        trained_on=config.data.name,
        settings=digest(recipe_of(config, train, validation)),
        seed=config.seed,
    )
    adapted = lora.adapt(network, config.peft, networks.head_modules(network))
    notes = [*train.notes, *validation.notes, *train_notes, *validation_notes]
    return Prepared(train, validation, adapted, encoder, encoded_train, encoded_validation, recipe, notes)


@dataclass(frozen=True)
class Fitted:
    """What a fit reports besides the weights. `seconds` is the time in training steps and validation, of all its parts."""

    items: int
    precision: str
    seconds: float
    examples_per_second: float
    parameters: int
    trained: int
    steps: int
    epochs: int
    health: list[dict[str, Any]]
    history: list[tuple[int, int, str, str, float]]

    def facts(self) -> dict[str, Any]:
        """For metrics.json: everything but the curves, which are in log.csv, and the health, which stands on its own."""
        return {name: value for name, value in asdict(self).items() if name not in ("history", "health")}


def fit(config: TrainConfig, run: Run, ready: Prepared) -> Fitted | None:
    """Train the prepared network in place, from the run's checkpoint if it has one.

    Returns None in the processes of a distributed fit that have nothing left to do.
    """
    network, train, validation = ready.network, ready.encoded_train, ready.encoded_validation
    method = config.method
    batches = ChoiceData(ready.encoder, train, validation, method.batch_size, method.max_tokens, config.seed)
    steps = len(batches.buckets) * method.epochs
    # Decay would move every row of the embedding; without it only the rows in use ever change.
    used = {token for example in (*train, *validation) for ids in example.sequences for token in ids}
    parameters = sum(parameter.numel() for parameter in network.parameters())
    trained = sum(parameter.numel() for parameter in network.parameters() if parameter.requires_grad)
    whole = trim(network, used) if method.weight_decay == 0 and isinstance(network, PreTrainedModel) else None
    module = ContrastiveModule(network, method, steps, config.seed)
    history = History(run.folder / "log.csv", ready.validation.items, log)
    chance = sum(1 / len(example.option_rows) for example in train) / len(train)
    health = Health(history, chance, _head(network), log)
    precision = runtime.precision(config.trainer)
    trainer = runtime.trainer(config, run, precision, [history, health])
    resumed = run.checkpoint if run.checkpoint.exists() else None
    name, source = config.model.name, config.data.name
    log.info("training %s on %s: %d items, %d epochs, %d steps, %s", name, source, len(train), method.epochs, steps, precision)
    if resumed:
        log.info("resuming from %s", resumed)
    started = perf_counter()
    try:
        trainer.fit(module, datamodule=batches, ckpt_path=str(resumed) if resumed else None, weights_only=True)
    except FiglangError:
        raise
    except Exception as error:  # a damaged checkpoint can fail in any way
        if resumed and not trainer.global_step:
            raise FiglangError(
                f"{resumed} cannot be resumed from ({one_line(error)}); overwrite=true starts the run anew"
            ) from error
        raise
    if trainer.interrupted:
        raise FiglangError(f"interrupted; the same command continues {run.folder} after its last whole epoch")
    if not trainer.is_global_zero:
        return None
    if whole is not None:
        restore(network, whole)
    network.to("cpu").eval()
    seconds = history.seconds or perf_counter() - started
    return Fitted(
        items=len(train),
        precision=precision,
        seconds=seconds,
        examples_per_second=len(train) * method.epochs / seconds,
        parameters=parameters,
        trained=trained,
        steps=steps,
        epochs=method.epochs,
        health=health.findings,
        history=history.rows,
    )


def _head(network: nn.Module) -> list[nn.Parameter]:
    plain = network.get_base_model() if isinstance(network, PeftModel) else network
    heads = networks.head_modules(cast(PreTrainedModel, plain))
    return [
        parameter for name, parameter in plain.named_parameters() if name.split(".")[0] in heads and "original_module" not in name
    ]
