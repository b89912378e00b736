"""From a configuration to everything a fit needs."""

import logging
from dataclasses import dataclass

from peft import PeftModel
from transformers import PreTrainedModel

from figlang import data
from figlang.checkpoint import Recipe
from figlang.config import TrainConfig
from figlang.encode import Encoded, Encoder
from figlang.evaluation import encode_all
from figlang.models import lora, networks
from figlang.runs import recipe as recipe_of
from figlang.signature import digest
from figlang.types import Split

SHOWN = 5


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


def log_notes(notes: list[str], logger: logging.Logger) -> None:
    """The first notes about the data, and how many more there are."""
    for note in notes[:SHOWN]:
        logger.info("data: %s", note)
    if len(notes) > SHOWN:
        logger.info("data: %d more notes are in metrics.json", len(notes) - SHOWN)


def prepare(config: TrainConfig) -> Prepared:
    """Load the data, build the network with its adapters, tokenise once.

    Everything that can be wrong with a configuration is found here, before a run folder is touched.
    """
    model, method = config.model, config.method
    train, validation = data.for_training(config.data, config.paths)
    items = (*train.items, *validation.items)
    options = max(len(item.options) for item in items)
    texts = [text for item in items for text in (item.context, *item.options)]
    network, tokenizer = networks.build(model, method.format, texts, options)
    encoder = Encoder(tokenizer, method.format, method.text, model.max_length)
    encoded_train, train_notes = encode_all(encoder, train.items)
    encoded_validation, validation_notes = encode_all(encoder, validation.items)
    recipe = Recipe(
        name=model.name,
        base=model.name_or_path,
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
