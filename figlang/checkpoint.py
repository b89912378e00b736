"""Exported models: the only place that knows their file format.

An export is a Hugging Face folder (safetensors, config, tokenizer) that plain transformers loads, and a `figlang.json`
beside it that says how inputs are worded and scores are read.
"""

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import nn
from transformers import AutoConfig, PreTrainedModel
from transformers.utils import cached_file

from figlang.config import ModelConfig
from figlang.encode import Encoder
from figlang.errors import FiglangError, one_line
from figlang.models import networks
from figlang.scoring.head import Scorer, scorer

RECIPE = "figlang.json"


@dataclass(frozen=True)
class Recipe:
    """What an exported network needs besides its weights, and where it comes from.

    `settings` identifies everything that determined the training: settings and hashes of the data (recipe.json of the run).
    """

    name: str
    base: str
    method: str
    format: str
    text: str
    max_length: int
    scale: float
    options: int
    trained_on: str
    settings: str
    seed: int | None


@dataclass(frozen=True)
class Loaded:
    """A network that is ready to score."""

    network: nn.Module
    encoder: Encoder
    score: Scorer
    recipe: Recipe


def export(network: PreTrainedModel, encoder: Encoder, recipe: Recipe, folder: Path) -> None:
    """Write an export; the folder gets its name only when it is complete."""
    beside = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(beside, ignore_errors=True)
    network.save_pretrained(beside)
    encoder.tokenizer.save_pretrained(beside)
    (beside / RECIPE).write_text(json.dumps(asdict(recipe), indent=2) + "\n")
    shutil.rmtree(folder, ignore_errors=True)
    beside.rename(folder)


def load(source: str, revision: str | None = None) -> Loaded:
    """A run folder, an exported or released folder, a `package:` source or a hub id, ready to score.

    A network without figlang.json is taken by its class: multiple-choice networks as `pair`, bare encoders as `dual`.
    """
    located = networks.locate(source)
    recipe = _recipe(located, source, revision)
    model = ModelConfig(name=recipe.name, name_or_path=located, revision=revision, max_length=recipe.max_length)
    network, tokenizer = networks.build(model, recipe.format, [], recipe.options)
    encoder = Encoder(tokenizer, recipe.format, recipe.text, recipe.max_length)
    return Loaded(network.eval(), encoder, scorer(recipe.format, recipe.scale), recipe)


def _recipe(located: str, source: str, revision: str | None) -> Recipe:
    try:
        path = cached_file(located, RECIPE, revision=revision, _raise_exceptions_for_missing_entries=False)
        if path is not None:
            return Recipe(**json.loads(Path(path).read_text()))
        classes = AutoConfig.from_pretrained(located, revision=revision).architectures or []
    except (ValueError, TypeError, KeyError) as error:
        raise FiglangError(f"{source}: its {RECIPE} or config.json cannot be read ({error}); export the model again") from error
    except OSError as error:
        raise FiglangError(
            f"no checkpoint {source!r}: neither a folder here nor reachable as a hub id ({one_line(error)})"
        ) from error
    format = "pair" if any("MultipleChoice" in name for name in classes) else "dual"
    if format == "dual" and any("For" in name for name in classes):
        raise FiglangError(
            f"{source}: {classes[0]} has no {RECIPE}, and only multiple-choice networks and bare encoders can do without"
        )
    name = source.rstrip("/").split("/")[-1]
    return Recipe(name, source, "none", format, "clean", 80, 20.0, 2, "nothing", "none", None)


def facts(loaded: Loaded) -> dict[str, Any]:
    """What of a loaded network can change a score, for the signature."""
    recipe = loaded.recipe
    format = f"{recipe.format}(scale={recipe.scale:g})" if recipe.format == "dual" else recipe.format
    return {
        "model": recipe.name,
        "base": recipe.base,
        "method": recipe.method,
        "trained": f"{recipe.trained_on}@{recipe.settings}",
        "scoring": format,
        "norm": "none",
        "prompt": "none",
        "text": recipe.text,
        "max_length": recipe.max_length,
        "train_seed": recipe.seed,
        "precision": str(loaded.network.dtype).removeprefix("torch."),
    }
