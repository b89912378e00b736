"""Pretrained weights from a folder, a hub id, a package, a GGUF file, or adapters over one of these."""

import logging
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import torch
import transformers
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from figlang.config import ModelConfig
from figlang.errors import FiglangError, damage
from figlang.files import hub
from figlang.files.sources import PACKAGE, local_path
from figlang.machine.faults import explain
from figlang.machine.importing import uncollected
from figlang.models import adapters, gguf, layout, low_rank, opening, recast, soundness
from figlang.models.below import identity, network_below, reached, weights_sha256, within
from figlang.models.manifest import Manifest, stored

if TYPE_CHECKING:
    from peft import PeftConfig, PeftModel

log = logging.getLogger("figlang")

# Adapters of other tools have no config.json. Their task type names the class of the network below them.
TASKS: dict[Any, Any] = {
    "CAUSAL_LM": transformers.AutoModelForCausalLM,
    "SEQ_CLS": transformers.AutoModelForSequenceClassification,
    "FEATURE_EXTRACTION": transformers.AutoModel,
}


def _lora() -> ModuleType:
    """The module of adapters. A network without them does not wait for peft, which takes a second to
    import."""
    with uncollected():
        from figlang.models import lora

    return lora


def _settings_of(source: str, revision: str | None) -> "PeftConfig | None":
    """See `lora.settings_of`."""
    if adapters.file_of(source, adapters.SETTINGS, revision) is None:
        return None
    return cast("PeftConfig | None", _lora().settings_of(source, revision))


def locate(name_or_path: str) -> str:
    """The argument of `from_pretrained` for a source.

    It is a folder for `package:` sources, local folders and exported runs, and otherwise a hub id.

    Raises:
        FiglangError: If there is no such folder, if it is an unfinished run, or if the hub cannot be reached.
    """
    owner, inside, _ = name_or_path.partition("/")
    # The hub is not asked about a misspelt run: its ids have at most one slash.
    here = (
        name_or_path.startswith((PACKAGE, "/", ".", "~", "runs/"))
        or Path(owner if inside else name_or_path).is_dir()
    )
    if not here and name_or_path.count("/") < 2:
        hub.check(name_or_path)
        return name_or_path
    folder = local_path(name_or_path)
    if not folder.is_dir():
        raise FiglangError(
            f"no such model folder: {folder}; give a hub id, a folder or package:<module>/<path>"
        )
    if (folder / "model" / "config.json").is_file():
        return str(folder / "model")
    if (folder / "recipe.json").is_file() and not (folder / "metrics.json").exists():
        raise FiglangError(
            f"{folder} is an unfinished run without an exported model; the command that started it goes on"
        )
    return str(folder)


def address(name_or_path: str) -> str:
    """The name by which adapters refer to the network below them.

    It is a folder, a hub id, a `package:` source or a GGUF file.
    """
    itself = name_or_path.startswith(PACKAGE) or gguf.is_gguf(name_or_path)
    return name_or_path if itself else locate(name_or_path)


def has_adapters(model: ModelConfig) -> bool:
    """Whether the source of a network holds adapters over another one."""
    if model.init == "tiny" or gguf.is_gguf(model.name_or_path):
        return False
    source = (locate(model.name_or_path), model.revision)
    return low_rank.settings(*source) is not None or _settings_of(*source) is not None


def below(model: ModelConfig) -> ModelConfig:
    """The network below the adapters of a source.

    Raises:
        FiglangError: If the source holds no adapters.
    """
    source = locate(model.name_or_path)
    base = network_below(model, source, _settings(model, source), stored(source, model.revision))
    return replace(model, name_or_path=base.name_or_path, revision=base.revision, base=None)


def classes_of(model: ModelConfig) -> PreTrainedConfig:
    """The configuration that names the classes of a source.

    Adapters have their own, because they have a head.
    """
    source = locate(model.name_or_path)
    return opening.read_config(source, model.revision, model.trust_remote_code, model.base)


def resume(adapted: "PeftModel", model: ModelConfig, format: str, base_sha256: str | None) -> None:
    """Load the weights of earlier adapters and their heads into new ones.

    Args:
        adapted: A network with new adapters.
        model: Settings whose source holds the earlier adapters.
        format: Input format of the new adapters.
        base_sha256: Fingerprint of the network below the new adapters.

    Raises:
        FiglangError: If the earlier adapters are of another kind, shape or input format, or were trained over
            another network.
    """
    source = locate(model.name_or_path)
    settings, manifest = _settings(model, source), stored(source, model.revision)
    if manifest is not None and manifest.format != format:
        # Another format has another head, and so other weights below the adapters.
        raise FiglangError(
            f"{source}: its adapters are of the input format {manifest.format}, not {format}; stay with it, "
            "or take peft.stack=merge"
        )
    if manifest is not None and manifest.base_sha256 not in (None, base_sha256):
        raise FiglangError(
            f"{source}: its adapters were trained over other weights, of {manifest.base_precision}; take "
            "the network as it was then, and its model.dtype"
        )
    _lora().fill(adapted, settings, source, model.revision, model.allow_bin)


def load(
    model: ModelConfig,
    kind: Any,
    dtype: torch.dtype,
    more: dict[str, Any],
    cache: str,
    above: tuple[str, ...] = (),
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, list[str]]:
    """Load a network, its tokenizer, and the names of weights that the files lack or hold in another shape.

    Adapters are merged into the network below them, or stay in its layers (`model.adapters=apart`). GGUF
    files are converted once.

    Args:
        model: Settings of the model.
        kind: Auto class of transformers.
        dtype: Number format of the network.
        more: Further arguments of `from_pretrained`.
        cache: Folder for converted files.
        above: Sources of the adapters over this network.

    Raises:
        FiglangError: If the network cannot be loaded.
    """
    source = (
        str(gguf.folder(model.name_or_path, cache))
        if gguf.is_gguf(model.name_or_path)
        else locate(model.name_or_path)
    )
    common = (model.revision, model.trust_remote_code)
    try:
        _check_depth(model, source)
        if settings := _plain(model, source) or _settings_of(source, model.revision):
            return _with_adapters(model, source, settings, kind, dtype, more, cache, above)
        if model.base:
            raise FiglangError(f"{model.name_or_path} holds no adapters; leave model.base out")
        few = layout.stored(model.name_or_path, opening.read_config(source, *common))
        tokenizer = opening.read_tokenizer(source, *common)
        safetensors = None if model.allow_bin else True
        network, loading_info = opening.read_network(
            kind, source, *common, dtype=dtype, use_safetensors=safetensors, **more
        )
    except FiglangError:
        raise
    except Exception as error:  # a config.json with impossible sizes raises all kinds of errors
        if not isinstance(error, OSError) and explain(error, training=False):
            raise  # a lack of memory is not a fault of the files
        more_said = gguf.advice(model.name_or_path, source)
        raise FiglangError(
            f"cannot load model {model.name_or_path!r} as {kind.__name__}: {damage(error)}{more_said}"
        ) from error
    layout.settle(network, few, dtype)
    soundness.check_weights(model.name_or_path, network)
    return network, tokenizer, recast.missing(loading_info)


def _plain(model: ModelConfig, source: str) -> low_rank.LowRank | None:
    """The settings of adapters that are merged without peft."""
    return None if model.adapters == "apart" else low_rank.settings(source, model.revision)


def _with_adapters(
    model: ModelConfig,
    source: str,
    settings: "PeftConfig | low_rank.LowRank",
    kind: Any,
    dtype: torch.dtype,
    more: dict[str, Any],
    cache: str,
    above: tuple[str, ...],
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, list[str]]:
    plain = isinstance(settings, low_rank.LowRank)
    apart = not plain and (model.adapters == "apart" or not _lora().adapter_kinds.mergeable(settings))
    if not apart:
        _check_mergeable(model, more)
    network, tokenizer = _below(model, source, settings, kind, cache, above, apart)
    if not isinstance(settings, low_rank.LowRank) or not low_rank.merge(
        network, settings, source, model.revision, dtype
    ):
        adapted = _attached(network, model, source, _settings(model, source))
        if apart:
            inside = _lora().adapter_kinds.below(adapted, source)
            recast.check(model.name_or_path, inside, kind, more, model.trust_remote_code)
            return inside, tokenizer, []
        network = _lora().merge(adapted, dtype)
    network, missing = recast.recast(network, kind, dtype, more, model.trust_remote_code)
    return network, tokenizer, missing


def _check_depth(model: ModelConfig, source: str) -> None:
    """Check the configuration of a network.

    This comes first, because it is one file: otherwise the hub's client tries each file for half a minute
    without a network.

    Raises:
        FiglangError: If its sizes are impossible.
        OSError, ValueError: If there is no configuration, nor adapters, which other tools write without one.
    """
    try:
        config = opening.read_config(source, model.revision, model.trust_remote_code, model.base)
        settings = _plain(model, source) or _settings_of(source, model.revision)
        soundness.check_depth(source, config, adapters=settings is not None)
    except (OSError, ValueError):
        described = adapters.file_of(source, "config.json", model.revision)
        if described or not _settings_of(source, model.revision):
            raise


def _check_mergeable(model: ModelConfig, more: dict[str, Any]) -> None:
    """Check that adapters are to be merged into a network that lies whole and unrounded on one device.

    Raises:
        FiglangError: If it does not.
    """
    if more.get("device_map") or "quantization_config" in more:
        raise FiglangError(
            f"{model.name_or_path} holds adapters, which cannot be merged with model.device_map and "
            "model.quantization; evaluate them with model.adapters=apart, or merge them first: figlang merge "
            f"checkpoint={model.name_or_path} output=FOLDER"
        )


def unmerged(model: ModelConfig, cache: str) -> tuple["PeftModel", PreTrainedTokenizerBase]:
    """Adapters in float32 over the network on which they were trained, and the tokenizer.

    Raises:
        FiglangError: If there are no adapters, or if the network has changed.
    """
    source = locate(model.name_or_path)
    settings = _settings(model, source)
    network, tokenizer = _below(model, source, settings, transformers.AutoModel, cache)
    return _attached(network, model, source, settings).float(), tokenizer


def _settings(model: ModelConfig, source: str) -> "PeftConfig":
    settings = _settings_of(source, model.revision)
    if settings is None:
        raise FiglangError(
            f"{model.name_or_path} holds no adapters, or cannot be reached; give a run with peft=lora or "
            "another kind of adapters"
        )
    return settings


def _attached(
    network: PreTrainedModel, model: ModelConfig, source: str, settings: "PeftConfig"
) -> "PeftModel":
    adapted: PeftModel = _lora().attach(network, settings, source, model.revision, model.allow_bin)
    return adapted


def _below(
    model: ModelConfig,
    source: str,
    settings: "PeftConfig | low_rank.LowRank",
    kind: Any,
    cache: str,
    above: tuple[str, ...] = (),
    apart: bool = False,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The network on which adapters were trained, and their tokenizer. `apart` leaves it its few bits."""
    manifest = stored(source, model.revision)
    here = identity(source)
    if here in above:
        raise FiglangError(
            f"{source}: its adapter_config.json names adapters over these ones as "
            "base_model_name_or_path; write the network there on which they were trained"
        )
    kind, more = _class_below(model, source, TASKS.get(settings.task_type, kind), manifest)
    trained = network_below(model, source, settings, manifest)
    base = layout.lowered(trained, model) if apart else trained
    bits, placed = base.quantization != "none", bool(base.device_map)
    kept = getattr(settings, "modules_to_save", None) or []
    if bits or placed:
        more |= layout.arguments(base)
    # Weights are rounded only after they were compared, if they are not rounded while they are read.
    first = base if bits or placed else trained
    with reached(model, source, base, locate):
        network, tokenizer, missing = load(
            base, kind, getattr(torch, first.dtype), more, cache, (*above, here)
        )
    if network.base_model is network and getattr(network, "pooler", None) is not None:
        network.pooler = None  # adapters of a bare encoder belong to a dual encoder
    random = [name for name in missing if name in dict(network.named_parameters()) and not within(name, kept)]
    if random:
        raise FiglangError(
            f"{source}: {base.name_or_path} has no weights for {random[0]}, nor have its adapters"
        )
    if manifest is not None and manifest.base_sha256 is not None:
        _check_base(network, manifest.base_sha256, kept, source, first, trained)
    if bits and not apart:
        network = network.dequantize()
    if not (bits or placed):
        layout.cast(network, getattr(torch, base.dtype))
    if not apart:
        for name, module in network.named_modules():
            if within(name, kept):
                module.float()  # the weights that replace those of a head are not rounded before the merge
    if (Path(source) / "tokenizer_config.json").is_file():
        tokenizer = opening.read_tokenizer(source, None, model.trust_remote_code)
    return network, tokenizer


def _class_below(
    model: ModelConfig, source: str, kind: Any, manifest: Manifest | None
) -> tuple[Any, dict[str, Any]]:
    """The class of the network below adapters, and the arguments with which it is loaded."""
    more: dict[str, Any] = {"ignore_mismatched_sizes": True}
    if manifest is None:
        return kind, more
    config = opening.read_config(source, model.revision, model.trust_remote_code)
    # transformers does not write the number of classes if it is its own default. BART's code then reads 3.
    if manifest.input_format.counted:
        config.num_labels = manifest.options
    named = getattr(transformers, (config.architectures or [""])[0], None)
    if isinstance(named, type) and issubclass(named, PreTrainedModel):
        kind = named
    return kind, more | {"config": config}


def _check_base(
    network: PreTrainedModel,
    expected: str,
    kept: list[str],
    source: str,
    loaded: ModelConfig,
    trained: ModelConfig,
) -> None:
    """Check that adapters lie over the network on which they were trained.

    Raises:
        FiglangError: If it has other weights.
    """
    on_disk = any(parameter.is_meta for parameter in network.parameters())
    if on_disk or (loaded.dtype, loaded.quantization) != (trained.dtype, trained.quantization):
        why = "some are on the disk" if on_disk else "they are rounded while they are read"
        log.warning(
            "%s: the weights of %s are not compared with those of the training, since %s",
            *(source, trained.name_or_path, why),
        )
    elif weights_sha256(network, kept) != expected:
        raise FiglangError(
            f"{source}: {trained.name_or_path} has other weights than the network on which its adapters "
            "were trained; take the version that it had then"
        )
