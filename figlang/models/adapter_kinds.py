"""Adapters of other kinds than LoRA: which can be read, how they are merged, and prompts that stay apart.

peft reads them. Learnt prompts (prompt tuning, prefix tuning, p-tuning) have no weights to merge into. They
are laid before every input of the network, which keeps its class and its outputs.
"""

import copy
import inspect
import logging
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

import peft as library
import torch
from peft import IA3Config, PeftConfig, PeftModel, PeftType, PromptTuningConfig, VeraConfig
from peft.mapping import PEFT_TYPE_TO_CONFIG_MAPPING, PEFT_TYPE_TO_TUNER_MAPPING
from torch import nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from figlang import config
from figlang.errors import FiglangError
from figlang.scoring.adapted import PROMPT
from figlang.scoring.window import positions

log = logging.getLogger(__name__)

# The values of `peft.name` that are LoRA, whose settings `figlang.models.lora` makes.
LORA = ("lora", "dora", "rslora", "qlora")

# Kinds that a network with plain inputs cannot have, and why.
REFUSED = {
    PeftType.XLORA: "they mix adapters of several other folders",
    PeftType.POLY: "they need the number of a task with every input",
    PeftType.MULTITASK_PROMPT_TUNING: "they need the number of a task with every input",
    PeftType.LILY: "each token's states depend on all tokens of its input, and they have no merge",
    PeftType.SHADOW: "they are a second network beside the first",
}

# Without one of these tasks, peft reads inputs past the prompt.
TASKS = ("CAUSAL_LM", "SEQ_CLS", "FEATURE_EXTRACTION")


def settings_class(source: str, name: object) -> type[PeftConfig]:
    """The class of peft that holds the settings of a kind of adapters.

    Args:
        source: Where the adapters are, for the error message.
        name: The `peft_type` of an adapter_config.json.

    Raises:
        FiglangError: If peft has no such kind, or if a network cannot be evaluated with it.
    """
    known = {kind.value: kind for kind in PeftType}
    kind = known.get(name) if isinstance(name, str) else None
    if kind is None or kind not in PEFT_TYPE_TO_CONFIG_MAPPING:
        raise FiglangError(f"{source} holds {name} adapters, a kind that the installed peft does not have")
    if kind in REFUSED:
        raise FiglangError(
            f"{source} holds {kind.value} adapters, which figlang does not read: {REFUSED[kind]}"
        )
    found: type[PeftConfig] = PEFT_TYPE_TO_CONFIG_MAPPING[kind]
    return found


def read(kind: type[PeftConfig], content: Mapping[str, Any], source: str, revision: str | None) -> PeftConfig:
    """The settings of adapters, as peft reads them.

    Args:
        kind: The class of their settings.
        content: What the adapter_config.json holds. A warning names the entries that the installed peft does
            not read.
        source: Where the adapters are.
        revision: The version on the hub; None for the newest.
    """
    with warnings.catch_warnings():
        for own in ("Unexpected keyword arguments", "The configuration file contains a `runtime_config`"):
            warnings.filterwarnings("ignore", message=own)  # names no folder
        settings: PeftConfig = kind.from_pretrained(source, **({"revision": revision} if revision else {}))
    known = inspect.signature(kind).parameters.keys() - {"runtime_config"}
    if unread := sorted(content.keys() - known):
        _name_unread(source, ", ".join(unread))
    return settings


@cache  # the settings are read several times
def _name_unread(source: str, unread: str) -> None:
    log.warning(
        "%s: the installed peft (%s) does not read these entries of its adapter_config.json: %s; a newer "
        "peft may read them",
        *(source, library.__version__, unread),
    )


def fresh(
    peft: config.PeftConfig,
    targets: str | list[str],
    excluded: list[str],
    network: PreTrainedModel,
    common: dict[str, Any],
) -> PeftConfig | None:
    """The settings of new adapters of `peft=ia3` (arXiv 2205.05638), `vera` (2310.11454), `prompt_tuning`
    (2104.08691).

    Args:
        peft: Settings of the adapters.
        targets: Layers with adapters, in peft's words.
        excluded: Modules without adapters.
        network: The network.
        common: Further settings that these kinds share with LoRA.

    Returns:
        None for LoRA's kinds.
    """
    if peft.name == "ia3":
        return IA3Config(target_modules=targets, exclude_modules=excluded, feedforward_modules=[], **common)
    if peft.name == "prompt_tuning":
        return PromptTuningConfig(
            task_type="CAUSAL_LM",
            num_virtual_tokens=peft.tokens,
            prompt_tuning_init="SAMPLE_VOCAB",
            revision=common["revision"],
        )
    if peft.name in LORA:
        return None
    assert peft.name == "vera", f"there are no settings for peft={peft.name}"
    # peft's VeRA knows no modules without adapters, so the others are named one by one.
    names = targeted(network, targets, excluded)
    return VeraConfig(r=peft.r, vera_dropout=peft.dropout, target_modules=names, **common)


def targeted(network: PreTrainedModel, targets: str | list[str], excluded: list[str]) -> list[str]:
    """The names of the layers that get adapters; the arguments are those of `fresh`."""
    head = network.get_output_embeddings()
    return [
        name
        for name, module in network.named_modules()
        if isinstance(module, nn.Linear | Conv1D)
        and module is not head
        and not any(f".{one}." in f".{name}." for one in excluded)
        and (targets == "all-linear" or any(f".{name}".endswith(f".{one}") for one in targets))
    ]


def mergeable(settings: PeftConfig) -> bool:
    """Whether adapters of this kind can be added to the weights below them."""
    tuner = PEFT_TYPE_TO_TUNER_MAPPING.get(settings.peft_type)
    return not settings.is_prompt_learning and hasattr(tuner, "merge_and_unload")


def below(adapted: PeftModel, source: str) -> PreTrainedModel:
    """The network below adapters that stay apart: with them in its layers, or with a learnt prompt.

    Args:
        adapted: The network with its adapters.
        source: Where they are, for error messages.

    Raises:
        FiglangError: If the adapters are a learnt prompt, and the network is laid out over several devices or
            peft does not know its task.
    """
    network: PreTrainedModel = adapted.get_base_model()
    settings = adapted.active_peft_config
    if not settings.is_prompt_learning:
        return network
    if settings.task_type not in TASKS:
        raise FiglangError(
            f"{source} holds a learnt prompt for the task {settings.task_type}, but peft lays prompts before "
            f"inputs only for {', '.join(TASKS)}"
        )
    if hasattr(network, "hf_device_map"):
        raise FiglangError(
            f"{source} holds a learnt prompt, which cannot be laid over weights on several devices; "
            "leave model.device_map out"
        )
    return _prompted(adapted, network, source)


def _prompted(adapted: PeftModel, network: PreTrainedModel, source: str) -> PreTrainedModel:
    # Both have the same modules. `inner` reads inputs plainly, and peft calls it with the prompt before them.
    inner = copy.copy(network)
    adapted.base_model = inner
    network.add_module(PROMPT, adapted.prompt_encoder)
    virtual = adapted.active_peft_config.num_virtual_tokens
    places = positions(network.config)

    def forward(
        input_ids: torch.Tensor | None = None, attention_mask: torch.Tensor | None = None, **more: Any
    ) -> Any:
        if input_ids is None:
            raise FiglangError(f"{source} holds a learnt prompt, with which a network reads token ids only")
        length = input_ids.shape[1]
        if places is not None and length + virtual > places:
            raise FiglangError(
                f"{source}: {virtual} learnt and {length} other tokens are more than the {places} positions "
                f"of the network; give max_length={places - virtual} or less"
            )
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        output = adapted(input_ids=input_ids, attention_mask=attention_mask, **more)
        for name in ("logits", "last_hidden_state"):
            states = getattr(output, name, None)
            if states is not None and states.ndim == 3 and states.shape[1] == length + virtual:
                output[name] = states[:, virtual:]  # leave out the outputs at the places of the prompt
        return output

    vars(network).update(forward=forward, generate=adapted.generate)
    return network
