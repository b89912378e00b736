"""Exported models: the only place that knows their file format.

An export is a Hugging Face folder (safetensors, config, tokenizer) that plain transformers loads, and a `figlang.json`
beside it that says how inputs are worded and scores are read.
"""

import json
import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from transformers import AutoConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import cached_file

from figlang.config import EvaluateConfig, ModelConfig, ScoringConfig
from figlang.errors import FiglangError, one_line
from figlang.models import gguf, networks
from figlang.types import CLASSES

RECIPE = "figlang.json"
UNTRAINED = "none"  # settings of what has not been trained here


@dataclass(frozen=True)
class Recipe:
    """What a network needs besides its weights, and where it comes from.

    `format` says how inputs are laid out and scores are read: pair, joint, dual or nli (see Encoder), causal, by the
    log-probabilities that `scoring` names after the token `bos`, or pll, by those of a masked-LM head. `settings`
    identifies everything that determined the training: settings and hashes of the data (recipe.json of the run).
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
    scoring: dict[str, Any] | None = None
    bos: str = "none"


@dataclass(frozen=True)
class Loaded:
    """A network that is ready to score."""

    network: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    recipe: Recipe


def export(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, recipe: Recipe, folder: Path) -> None:
    """Write an export; the folder gets its name only when it is complete."""
    beside = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(beside, ignore_errors=True)
    network.save_pretrained(beside)
    tokenizer.save_pretrained(beside)
    (beside / RECIPE).write_text(json.dumps(asdict(recipe), indent=2) + "\n")
    shutil.rmtree(folder, ignore_errors=True)
    beside.rename(folder)


def load(source: str, revision: str | None = None) -> Loaded:
    """A run folder, an exported or released folder, a `package:` source or a hub id, ready to score.

    A network without figlang.json is taken by its class: multiple-choice networks as `pair`, sequence classifiers as `nli`, bare
    encoders as `dual`.
    """
    located = networks.locate(source)
    recipe = _recipe(located, source, revision)
    model = ModelConfig(name=recipe.name, name_or_path=located, revision=revision, max_length=recipe.max_length)
    return _open(model, recipe)


def _open(model: ModelConfig, recipe: Recipe) -> Loaded:
    if recipe.format == "causal":
        network, tokenizer = networks.causal(model, cache="")
    else:
        network, tokenizer = networks.build(model, recipe.format, [], recipe.options, trained=True)
    return Loaded(network.eval(), tokenizer, recipe)


def named_by(config: EvaluateConfig) -> Loaded:
    """What an evaluation is of: its checkpoint, or its `model=` as it comes."""
    if config.checkpoint is None:
        return pretrained(config.model, config.scoring, config.paths.cache)
    return load(config.checkpoint, config.revision)


def pretrained(model: ModelConfig, scoring: ScoringConfig | None, cache: str) -> Loaded:
    """A `model=` as it comes, to be scored zero-shot.

    Raises FiglangError for a scoring that needs another kind of network.
    """
    if scoring is not None and scoring.kind == "pll":
        if model.family == "causal":
            raise FiglangError(f"scoring={scoring.name} is for encoders, and model={model.name} is causal; take scoring=clean")
        network, tokenizer = networks.masked(model)
        return Loaded(network, tokenizer, replace(causal_recipe(model, scoring), format="pll", bos="none"))
    if model.family != "causal":
        if scoring is not None and scoring.kind == "likelihood":
            raise FiglangError(
                f"scoring={scoring.name} is for causal models, and model={model.name} is an encoder; leave scoring out, or take pll"
            )
        if model.init == "tiny" and scoring is not None:  # debug=fast: there are no files to read a recipe from
            network, tokenizer = networks.build(model, "nli", [], len(CLASSES))
            about = ("none", "nli", scoring.text, model.max_length, 20.0, len(CLASSES), "nothing", UNTRAINED, None)
            return Loaded(network.eval(), tokenizer, Recipe(model.name, networks.describe(model), *about))
        recipe = replace(_recipe(networks.locate(model.name_or_path), model.name_or_path, model.revision), name=model.name)
        if scoring is not None and recipe.format != "nli":
            raise FiglangError(
                f"scoring={scoring.name} needs a classifier of premises and hypotheses, and model={model.name} is read as "
                f"{recipe.format}; use model=nli_roberta, model=nli_deberta_v3_small or a run of method=nli"
            )
        if recipe.settings == UNTRAINED:
            recipe = replace(recipe, max_length=model.max_length, text=scoring.text if scoring else recipe.text)
        return _open(model, recipe)
    if scoring is not None and scoring.kind != "likelihood":
        raise FiglangError(
            f"scoring={scoring.name} is not for causal models like model={model.name}; use scoring=clean or scoring=pmi"
        )
    network, tokenizer = networks.causal(model, cache)
    return Loaded(network, tokenizer, causal_recipe(model, scoring or ScoringConfig()))


def causal_recipe(model: ModelConfig, scoring: ScoringConfig, method: str = "zero-shot") -> Recipe:
    """The recipe of a causal model that nothing has been trained on yet."""
    return Recipe(
        name=model.name,
        base=networks.describe(model),
        method=method,
        format="causal",
        text=scoring.text,
        max_length=model.max_length,
        scale=1.0,
        options=2,
        trained_on="nothing",
        settings=UNTRAINED,
        seed=None,
        scoring=asdict(scoring),
        # The tokenizer of a tiny network has other ids.
        bos="add" if model.init == "tiny" and model.bos.isdigit() else model.bos if scoring.bos is None else scoring.bos,
    )


def _recipe(located: str, source: str, revision: str | None) -> Recipe:
    try:
        path = cached_file(located, RECIPE, revision=revision, _raise_exceptions_for_missing_entries=False)
        if path is not None:
            return Recipe(**json.loads(Path(path).read_text()))
        config = AutoConfig.from_pretrained(located, revision=revision)
    except (ValueError, TypeError, KeyError) as error:
        raise FiglangError(f"{source}: its {RECIPE} or config.json cannot be read ({error}); export the model again") from error
    except OSError as error:
        raise FiglangError(
            f"no checkpoint {source!r}: neither a folder here nor reachable as a hub id ({one_line(error)})"
        ) from error
    classes = config.architectures or []
    kinds = {"MultipleChoice": "pair", "SequenceClassification": "nli"}
    format = next((format for kind, format in kinds.items() if any(kind in name for name in classes)), "dual")
    if format == "dual" and any("For" in name for name in classes):
        raise FiglangError(
            f"{source}: {classes[0]} has no {RECIPE}, and only multiple-choice networks, NLI classifiers and bare encoders can do "
            "without"
        )
    name = source.rstrip("/").split("/")[-1]
    text, length, outputs = ("raw", 256, config.num_labels) if format == "nli" else ("clean", 80, 2)
    return Recipe(name, source, "none", format, text, length, 20.0, outputs, "nothing", UNTRAINED, None)


def ancestry(model: ModelConfig) -> Recipe | None:
    """The recipe of the run or export that a training starts from; None for weights that do not come from here."""
    if model.init == "tiny" or gguf.is_gguf(model.name_or_path):
        return None
    folder = Path(networks.locate(model.name_or_path))
    return _recipe(str(folder), model.name_or_path, None) if (folder / RECIPE).is_file() else None
