"""Adapters: laid over any network, trained, written, read and merged, always with their heads.

LoRA (arXiv 2106.09685), DoRA (2402.09353), rsLoRA (2312.03732). Over weights in 4 bits it is QLoRA
(2305.14314).
"""

import copy
import re
import warnings
from pathlib import Path
from pickle import UnpicklingError
from typing import Annotated, Any

import torch
from peft import (
    LoraConfig,
    PeftConfig,
    PeftModel,
    PeftType,
    get_peft_model,
    get_peft_model_state_dict,
    load_peft_weights,
    set_peft_model_state_dict,
)
from peft.tuners.tuners_utils import BaseTunerLayer
from peft.utils import CONFIG_NAME, SAFETENSORS_WEIGHTS_NAME
from peft.utils.constants import TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING as USUAL
from peft.utils.other import get_pattern_key
from pydantic import Field, TypeAdapter
from pydantic_core import from_json
from safetensors import SafetensorError
from torch import nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D
from typing_extensions import TypedDict

from figlang import config
from figlang.errors import FiglangError, damage, one_line
from figlang.machine.limits import within as in_time
from figlang.models import adapter_kinds, calibrated, differences, layout
from figlang.models.adapters import OWN, file_of
from figlang.models.below import within
from figlang.models.soundness import validate
from figlang.text.amounts import form

PATIENCE = 10.0  # seconds; a usual pattern takes milliseconds


class _Settings(TypedDict, total=False):
    """The entries of an adapter_config.json that are read."""

    r: Annotated[int, Field(gt=0)]
    lora_alpha: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    lora_dropout: Annotated[float, Field(ge=0, lt=1)]
    base_model_name_or_path: str
    revision: str | None
    task_type: str | None
    target_modules: str | list[str] | None
    exclude_modules: str | list[str] | None
    modules_to_save: list[str] | None
    rank_pattern: dict[str, Annotated[int, Field(gt=0)]] | None
    alpha_pattern: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] | None
    use_dora: bool
    use_rslora: bool
    fan_in_fan_out: bool


SETTINGS = TypeAdapter(_Settings)
# The entries that mean the same in all kinds of adapters.
COMMON = {
    *("base_model_name_or_path", "revision", "task_type", "target_modules", "exclude_modules"),
    "modules_to_save",
}


def adapt(
    network: PreTrainedModel,
    peft: config.PeftConfig,
    kept: list[str],
    base: str,
    revision: str | None,
    given: calibrated.Given | None = None,
) -> PeftModel:
    """Lay adapters over the layers that `peft.target_modules` names.

    Args:
        network: The network.
        peft: Settings of the adapters.
        kept: Modules that are trained and written whole: heads, which PEFT would freeze without a warning
            because it has no task type for multiple choice, and other newly initialised modules.
        base: Source that loads the network again.
        revision: Revision of this source.
        given: What a beginning of `peft.init` may need.

    Raises:
        FiglangError: If the network has no such layers, or if they cannot begin so.
    """
    linear = {
        name: module for name, module in network.named_modules() if isinstance(module, nn.Linear | Conv1D)
    }
    target_modules = peft.target_modules
    if target_modules == "auto":
        # If PEFT has no default for an architecture, all linear layers are a sound choice.
        target_modules = USUAL.get(network.config.model_type, "all-linear")
    # A dual encoder has no pooler. But plain transformers would add one when it loads the network, with
    # adapters on it.
    excluded = [*kept, "pooler.dense"] if network.base_model is network else kept
    common: dict[str, Any] = {
        "modules_to_save": kept or None,
        "fan_in_fan_out": any(isinstance(module, Conv1D) for module in linear.values()),
        "revision": revision,
    }
    settings = adapter_kinds.fresh(peft, target_modules, excluded, network, common) or LoraConfig(
        target_modules=target_modules, exclude_modules=excluded, **common, **_low_rank(peft)
    )
    names = adapter_kinds.targeted(network, target_modules, excluded)
    _check_named(peft, names)
    mutates = peft.init in differences.MUTATING
    before = differences.whole_state(network) if mutates and base == OWN else None
    given = given or calibrated.Given()
    calibrated.settled(network, settings, peft.init, names, given)
    try:
        adapted = _laid_over(network, settings)
    except ValueError as error:
        names = sorted({name.rpartition(".")[2] for name in linear if not within(name, kept)})
        raise FiglangError(
            f"peft.target_modules={target_modules} fits no layer of {base}; choose auto, all-linear or "
            f"some of {', '.join(names)}"
        ) from error
    adapted.active_peft_config.base_model_name_or_path = base
    calibrated.begun(adapted, peft.init, given)
    if mutates:
        differences.remember(adapted)
        vars(adapted)["whole_before"] = before
    return adapted


def _check_named(peft: config.PeftConfig, names: list[str]) -> None:
    """Check that every pattern fits a layer with adapters, as peft matches them.

    Raises:
        FiglangError: One fits none, or cannot be read.
    """
    for option in ("rank_pattern", "alpha_pattern"):
        for key in getattr(peft, option) or ():
            try:
                fits = any(get_pattern_key([key], name) == key for name in names)
            except re.error as error:
                raise FiglangError(f"peft.{option}={key} is not a regular expression ({error})") from error
            if names and not fits:
                ends = sorted({name.rpartition(".")[2] for name in names})
                raise FiglangError(
                    f"peft.{option}={key} fits no layer with adapters; choose some of {', '.join(ends)}"
                )


def _low_rank(peft: config.PeftConfig) -> dict[str, Any]:
    """The settings that adapters of low rank have and others lack, in peft's words."""
    return {
        "r": peft.r,
        "lora_alpha": peft.alpha,
        "lora_dropout": peft.dropout,
        "use_dora": peft.name == "dora",
        "use_rslora": peft.name == "rslora",
        "init_lora_weights": calibrated.PEFTS.get(peft.init, peft.init),
        "rank_pattern": dict(peft.rank_pattern or {}),
        "alpha_pattern": dict(peft.alpha_pattern or {}),
    }


def save(adapted: PeftModel, folder: Path) -> None:
    """Write adapters and heads (safetensors, adapter_config.json) and the configuration of the network below.

    The network itself is written only if no other source has it.
    """
    # True or "auto" would ask the hub for the base's vocabulary.
    adapted.save_pretrained(str(folder), save_embedding_layers=False)
    differences.write(adapted, folder)
    network, learnt = adapted.get_base_model(), adapted.active_peft_config.is_prompt_learning
    settings = copy.deepcopy(network.config)
    if hasattr(settings, "quantization_config"):
        del settings.quantization_config
    settings.architectures = [type(network).__name__]
    settings.save_pretrained(folder)
    if adapted.active_peft_config.base_model_name_or_path == OWN:
        whole = network if learnt else copy.deepcopy(adapted).unload()
        if before := vars(adapted).get("whole_before"):
            whole.load_state_dict(before)
        whole.save_pretrained(folder / OWN)


def settings_of(source: str, revision: str | None) -> PeftConfig | None:
    """The settings of the adapters in a folder or hub repository.

    None without adapters, or if it cannot be reached.

    Raises:
        FiglangError: If the adapters are of a kind that cannot be read.
    """
    path = file_of(source, CONFIG_NAME, revision)
    if path is None:
        return None
    try:
        content = from_json(Path(path).read_text(encoding="utf-8"))
        kind = adapter_kinds.settings_class(source, content["peft_type"])
        # Megatron's settings name a module that PEFT would import.
        if content.get("megatron_config") is not None:
            raise FiglangError(f"{source} holds adapters of Megatron's layers, which are not read")
        if not content["base_model_name_or_path"]:
            raise FiglangError(
                f"{source}: its {CONFIG_NAME} names no base_model_name_or_path; write there which "
                "network they belong to"
            )
        own = content["peft_type"] == PeftType.LORA
        validate(SETTINGS, content if own else {name: content[name] for name in COMMON & content.keys()})
        return adapter_kinds.read(kind, content, source, revision)
    except (ValueError, TypeError, KeyError) as error:
        raise FiglangError(
            f"{source}: its {CONFIG_NAME} cannot be read ({one_line(error)}); export the model again"
        ) from error


def attach(
    network: PreTrainedModel, settings: PeftConfig, source: str, revision: str | None, allow_bin: bool
) -> PeftModel:
    """Lay the adapters of a folder or hub repository over a network.

    Args:
        network: The network below.
        settings: The adapter_config.json.
        source: The folder or hub id of the adapters.
        revision: Branch, tag or commit of a hub id.
        allow_bin: Whether weights in a pickle may be read.

    Raises:
        FiglangError: If they cannot be read or do not fit the network.
    """
    settings.inference_mode = True
    _check_patterns(network, settings, source)
    try:
        adapted = _laid_over(network, settings)
    except ValueError as error:
        raise _unfit(source, settings, error) from error
    _bring(adapted, source)
    fill(adapted, settings, source, revision, allow_bin)
    return adapted.eval()


def fill(
    adapted: PeftModel, settings: PeftConfig, source: str, revision: str | None, allow_bin: bool
) -> None:
    """Load the weights of adapters and their heads from a folder or hub repository.

    Args:
        adapted: A network with adapters.
        settings: The settings of the adapters in the source.
        source: Folder or hub id.
        revision: Revision on the hub.
        allow_bin: Accept pickled weights, read with weights_only=True.

    Raises:
        FiglangError: If they cannot be read or are of another kind or shape.
    """
    stored, expected_kind = _kind(settings), _kind(adapted.active_peft_config)
    if stored != expected_kind:
        raise FiglangError(
            f"{source} holds adapters of {stored}, not of {expected_kind}; give the settings that they have"
        )
    if not allow_bin and file_of(source, SAFETENSORS_WEIGHTS_NAME, revision) is None:
        raise FiglangError(
            f"{source} holds no {SAFETENSORS_WEIGHTS_NAME}; model.allow_bin=true also takes pickled .bin "
            "weights, read with weights_only=True"
        )
    try:
        weights = load_peft_weights(source, device="cpu", **_at(revision))
        if wrong := [name for name, weight in weights.items() if not bool(weight.isfinite().all())]:
            raise ValueError(f"its weights {wrong[0]} are not all finite numbers")
        expected = get_peft_model_state_dict(adapted, save_embedding_layers=False)
        if expected.keys() != weights.keys():
            other = sorted(expected.keys() ^ weights.keys())
            raise ValueError(
                f"{len(other)} {form(len(other), 'weight is', 'weights are')} not in both, for example "
                f"{other[0]}"
            )
        set_peft_model_state_dict(adapted, weights)
    except (OSError, ValueError, RuntimeError, SafetensorError, UnpicklingError) as error:
        raise _unfit(source, settings, error) from error


def merge(adapted: PeftModel, dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    """Add the adapters to the weights of the network.

    Each layer is merged in float32, which keeps the small changes of adapters. Then it is rounded to `dtype`,
    so that one layer at a time is large.

    Args:
        adapted: A network with adapters. It is changed.
        dtype: Number format of the merged network.

    Raises:
        FiglangError: If a merged weight is not a number.
    """
    try:
        if adapted.active_peft_config.peft_type != PeftType.LORA:
            adapted.float()  # layers of some kinds share weights, so all are merged before one is rounded
            whole: PreTrainedModel = adapted.merge_and_unload(safe_merge=True)
            return layout.cast(whole, dtype)
        for layer in [module for module in adapted.modules() if isinstance(module, BaseTunerLayer)]:
            layer.float().merge(safe_merge=True)
            layer.to(dtype)
    except (ValueError, NotImplementedError) as error:
        raise FiglangError(f"the adapters cannot be merged: {one_line(error)}") from error
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="All adapters are already merged")
        network: PreTrainedModel = adapted.merge_and_unload()
    return layout.cast(network, dtype)


def _at(revision: str | None) -> dict[str, Any]:
    return {} if revision is None else {"revision": revision}


def _kind(settings: PeftConfig) -> str:
    """Kind, rank and scaling of adapters, as settings. QLoRA's adapters are LoRA's over rounded weights."""
    if not isinstance(settings, LoraConfig) or settings.peft_type != PeftType.LORA:
        return f"peft={PeftType(settings.peft_type).value.lower()}"
    name = "dora" if settings.use_dora else "rslora" if settings.use_rslora else "lora"
    # Adapters of other tools may have weights of the same shapes with a scaling that peft.alpha does not
    # describe.
    other = ", with others in some layers" if settings.rank_pattern or settings.alpha_pattern else ""
    return f"peft={name} peft.r={settings.r} peft.alpha={settings.lora_alpha}{other}"


def _unfit(source: str, settings: PeftConfig, error: Exception) -> FiglangError:
    return FiglangError(
        f"{source}: its adapters do not fit {settings.base_model_name_or_path} or are damaged "
        f"({damage(error)})"
    )


def _check_patterns(network: PreTrainedModel, settings: PeftConfig, source: str) -> None:
    """Match the patterns of an adapter_config.json as PEFT will, within a time limit.

    Some patterns would practically never end.
    """
    lists = [list(getattr(settings, name, None) or ()) for name in ("rank_pattern", "alpha_pattern")]
    named = [getattr(settings, name, None) for name in ("target_modules", "exclude_modules")]
    patterns = [value for value in named if isinstance(value, str)]
    with in_time(PATIENCE, f"{source}: a pattern of its {CONFIG_NAME}"):
        for pattern in [*patterns, *(f"(.*\\.)?({key})$" for keys in lists for key in keys)]:
            try:
                compiled = re.compile(pattern)
            except re.error as error:
                raise FiglangError(
                    f"{source}: the pattern {pattern!r} of its {CONFIG_NAME} cannot be read ({error})"
                ) from error
            for name, _ in network.named_modules():
                compiled.fullmatch(name)


def _bring(adapted: PeftModel, source: str) -> None:
    """Put adapters on the device that computes, if the weights below them lie elsewhere.

    Raises:
        FiglangError: If the adapters need those weights themselves.
    """
    for layer in adapted.modules():
        if not isinstance(layer, BaseTunerLayer):
            continue
        hook = getattr(layer.get_base_layer(), "_hf_hook", None)
        for name, part in layer.named_children():
            if name == "base_layer" or not any(weight.is_meta for weight in part.parameters()):
                continue
            if name == "lora_magnitude_vector":
                raise FiglangError(
                    f"{source}: DoRA computes with the weights below it, but model.device_map leaves some "
                    "elsewhere; merge first: figlang merge"
                )
            part.to_empty(device=getattr(hook, "execution_device", None) or "cpu")


def _laid_over(network: PreTrainedModel, settings: PeftConfig) -> PeftModel:
    base, revision = settings.base_model_name_or_path, settings.revision
    settings.base_model_name_or_path = None
    with warnings.catch_warnings():
        # peft 0.21 causes it.
        warnings.filterwarnings("ignore", message="`is_gradient_checkpointing` is deprecated")
        # The pooler does not exist yet.
        warnings.filterwarnings("ignore", message="You have passed exclude_modules")
        adapted = get_peft_model(network, settings)
    # PEFT writes the network's own source there.
    settings.base_model_name_or_path, settings.revision = base, revision
    return adapted
