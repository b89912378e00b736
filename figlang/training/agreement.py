"""Whether the settings of a training agree with each other, checked before anything is loaded."""

import logging
from dataclasses import replace
from typing import TypeVar

from figlang.config import MethodConfig, TrainConfig
from figlang.errors import FiglangError
from figlang.machine.rank import rank
from figlang.models import weights
from figlang.models.formats import FORMATS
from figlang.runs import teacher_models
from figlang.tasks import registry
from figlang.text.amounts import typed
from figlang.training import saving

log = logging.getLogger("figlang")
Training = TypeVar("Training", bound=TrainConfig)

# Ways to train whose distance from the start can be measured in weights or products of two matrices.
PRODUCTS = ("none", "lora", "rslora", "qlora")

# Presets of models for all weights have at most this rate, and most of them far less. Released adapters were
# trained at higher ones.
LOWEST_RATE = 1e-4


def settled(config: Training) -> Training:
    """Replace what presets of trainer= leave open, where other settings decide it.

    `method.accumulate=auto` is 1 where all items of a step are compared, and `method.checkpointing=null` is
    false where weights are shared out.
    """
    method = config.method
    if method.checkpointing is None and _shared(config):
        method = replace(method, checkpointing=False)
    if method.accumulate == "auto" and (asked := _compares(config)):
        method = replace(method, accumulate="1")
        if rank() == 0:
            log.info("method.accumulate=1: %s compares all items of a step", asked)
    return replace(config, method=method)


def low_rate(config: TrainConfig) -> str:
    """A warning if the learning rate is one for all weights and adapters are trained; else empty."""
    rate = config.method.lr
    if config.peft.name == "none" or config.model.init == "tiny" or rate >= LOWEST_RATE:
        return ""
    return (
        f"method.lr={typed(rate)} is low for adapters, which learn little below {typed(LOWEST_RATE)}; give a "
        "higher one, for example method.lr=3e-4, or try several by `figlang find_lr`"
    )


def check(config: TrainConfig) -> None:
    """Check that settings agree with each other.

    Raises:
        FiglangError: Two settings do not agree.
    """
    registry.check(config.data, config.paths)
    model, peft = config.model, config.peft
    if model.served:
        raise FiglangError(
            "model=served is behind an endpoint, and only weights that are here can be trained; evaluate it"
        )
    if not config.scoring.causal:
        raise FiglangError(
            f"scoring={config.scoring.name} is for zero-shot evaluation, by figlang evaluate; "
            "use scoring=answer"
        )
    _check_adapters(config)
    _check_method(config)
    _check_steps(config)
    if model.dtype != "float32" and (not model.causal or peft.name == "none"):
        raise FiglangError(
            f"model.dtype={model.dtype} would round away the small steps of training; use float32 "
            "(trainer.precision=bf16-mixed is fast too), or train adapters of a causal model with peft=lora"
        )


def _check_adapters(config: TrainConfig) -> None:
    """Check that the weights can be trained or adapted.

    Raises:
        FiglangError: They cannot.
    """
    model, peft = config.model, config.peft
    if model.device_map is not None or (model.quantization != "none" and peft.name != "qlora"):
        raise FiglangError(
            "model.device_map and model.quantization are for evaluation; leave them out of training, or "
            "train adapters over 4 bits with peft=qlora"
        )
    if model.engine != "transformers":
        raise FiglangError(f"model.engine={model.engine} is for evaluation; leave it out of training")
    if model.adapters == "apart":
        raise FiglangError(
            "model.adapters=apart is for evaluation; leave it out of training, and see peft.stack"
        )
    if peft.name == "qlora" and not (model.causal and model.quantization == "4bit"):
        raise FiglangError(
            "peft=qlora trains adapters of a causal model over weights in 4 bits; take peft=lora otherwise"
        )
    if peft.name == "prompt_tuning" and not model.causal:
        raise FiglangError(
            f"peft=prompt_tuning trains tokens before the texts of a causal model, but {model.name} is an "
            "encoder; take peft=lora"
        )
    if peft.name == "prompt_tuning" and peft.stack == "merge":
        raise FiglangError(
            "peft.stack=merge cannot be used with peft=prompt_tuning, since no weights can hold its tokens; "
            "leave peft.stack out, or take peft=lora"
        )
    if peft.name != "none" and peft.stack == "refuse" and weights.has_adapters(model):
        raise FiglangError(
            f"{model.name_or_path} holds adapters already; peft.stack=continue trains these, "
            "peft.stack=merge merges them first "
            "and exports a whole network, peft=none goes on with all weights"
        )
    if config.method.l2_sp and peft.name not in PRODUCTS:
        raise FiglangError(
            f"method.l2_sp measures all weights or the product of an adapter's two matrices, and "
            f"peft={peft.name} has another effect; take peft=lora, or leave it out"
        )
    if config.method.reads_texts and peft.name == "prompt_tuning":
        raise FiglangError(
            f"method.anchor={config.method.anchor} reads its texts without a learnt prompt; take another "
            "anchor"
        )
    if model.base and peft.name != "none" and peft.stack == "merge":
        raise FiglangError(
            "peft.stack=merge needs the network that the earlier adapters name, without model.base; merge "
            f"them first: figlang merge checkpoint={model.name_or_path} model.base={model.base} output=FOLDER"
        )
    if continues(config) and weights.has_adapters(weights.below(model)):
        raise FiglangError(
            f"{model.name_or_path}: its adapters lie over other adapters; use peft.stack=merge"
        )


def _check_method(config: TrainConfig) -> None:
    """Check that the way of training is possible with the model and the data.

    Raises:
        FiglangError: It is not.
    """
    model, method = config.model, config.method
    causal = model.causal
    if method.name == "lm" and not causal:
        raise FiglangError(
            f"method=lm trains causal models, and {model.name} is an encoder; use method=contrastive"
        )
    inferences = registry.task(config.data.dataset).classified(config.data)
    if method.name == "nli" and (causal or not inferences):
        raise FiglangError(
            f"method=nli trains encoders on premises with hypotheses, not {model.name} on "
            f"data={config.data.name}; choose an encoder and data={', '.join(registry.classified())}"
        )
    if method.name != "nli" and inferences:
        raise FiglangError(
            f"data={config.data.name} has premises with hypotheses, which method=nli trains on; add "
            "method=nli or data.question=choice"
        )
    if method.text == "legacy" and method.name != "lm":
        raise FiglangError("method.text=legacy is the authors' wording for method=lm; choose clean or raw")
    if causal and (method.text == "raw" or method.format != MethodConfig.format):
        idle = "method.text=raw" if method.text == "raw" else f"method.format={method.format}"
        raise FiglangError(
            f"{idle} is for encoders; {model.name} is trained on the strings of scoring={config.scoring.name}"
        )
    if not causal and config.scoring.name != "answer":
        raise FiglangError(
            f"scoring={config.scoring.name} is for causal models, but {model.name} is an encoder; "
            "leave it out"
        )
    dual = not causal and FORMATS[method.format].bare
    if method.direction == "both" and not ((causal or dual) and method.name == "contrastive"):
        raise FiglangError(
            "method.direction=both is for causal models and dual encoders with method=contrastive; use "
            "forward"
        )
    if method.negatives == "batch" and not (dual and method.name == "contrastive"):
        raise FiglangError(
            "method.negatives=batch is for encoders with method.format=dual and method=contrastive; use "
            "options"
        )
    anchored = dual if method.anchor == "vectors" else causal
    if method.anchor != "none" and not (anchored and method.name == "contrastive"):
        whose = "encoders with method.format=dual" if method.anchor == "vectors" else "causal models"
        raise FiglangError(
            f"method.anchor={method.anchor} is for {whose} with method=contrastive; leave it out"
        )
    _check_teachers(config)


def _check_teachers(config: TrainConfig) -> None:
    """Check that teachers can teach as they are asked to.

    Raises:
        FiglangError: They cannot.
    """
    model, method = config.model, config.method
    for named in method.teacher_model:
        teacher_models.folder(named)
    dual = not model.causal and FORMATS[method.format].bare
    if method.similarity_weight and (not dual or method.step_wide):
        raise FiglangError(
            "method.similarity_weight is for encoders with method.format=dual, without direction=both and "
            "negatives=batch; leave it out, or these"
        )
    if not config.data.recombined:
        return
    if not (method.teacher_model and method.teacher_weight):
        raise FiglangError(
            "data.recombined makes items without a label, which only teachers can teach; add "
            "method.teacher_model=CHECKPOINT with method.teacher_weight above 0, or leave it out"
        )
    if method.direction == "both" or method.step_wide:
        raise FiglangError(
            "data.recombined makes items without a label, and method.direction=both and negatives=batch need "
            "one; leave these out"
        )


def _compares(config: TrainConfig) -> str | None:
    """The setting by which an encoder's loss compares all items of a step; None if it does not."""
    if not config.whole_steps:
        return None
    if config.method.step_wide:
        return "method.direction=both" if config.method.direction == "both" else "method.negatives=batch"
    return f"method.similarity_weight={config.method.similarity_weight:g}"


def _shared(config: TrainConfig) -> bool:
    """Whether the weights are shared out over processes."""
    return config.trainer.strategy not in ("auto", "ddp")


def _check_whole_steps(config: TrainConfig) -> None:
    """Check that all items of a step are read together, if the loss needs that.

    Raises:
        FiglangError: They are not.
    """
    method, trainer = config.method, config.trainer
    if (asked := _compares(config)) is None:
        return
    if not method.share_texts:
        raise FiglangError(
            f"{asked} needs method.share_texts=true, by which pairs come in the same step and equal texts "
            "are read once"
        )
    if method.accumulate != "1":
        raise FiglangError(
            f"{asked} compares all items of a step, and method.accumulate={method.accumulate} reads them in "
            "parts; use method.accumulate=1 (method.checkpointing=true also needs less memory)"
        )
    if trainer.strategy != "auto" or trainer.devices not in ("auto", "1") or trainer.nodes not in (None, 1):
        raise FiglangError(
            f"{asked} compares all items of a step, and several processes would share them out; use "
            "trainer.devices=1"
        )


def _check_steps(config: TrainConfig) -> None:
    """Check that steps are possible with the devices.

    Raises:
        FiglangError: They are not.
    """
    method, trainer = config.method, config.trainer
    _check_whole_steps(config)
    saving.check_kernels(method)
    for name, asked, without in (
        ("accumulate", method.accumulate != "1", "1"),
        ("checkpointing", method.checkpointing, "false"),
        ("ema", method.ema > 0, "0"),
        ("l2_sp", method.l2_sp > 0, "0"),
        ("optimizer", method.optimizer != "adamw", "adamw"),
        ("anchor", method.reads_texts, "none"),
    ):
        if _shared(config) and asked:
            raise FiglangError(
                f"method.{name}={str(getattr(method, name)).lower()} does not go with "
                f"trainer.strategy={trainer.strategy}, which shares the weights out; add "
                f"method.{name}={without}, or take trainer.strategy=ddp"
            )
    if method.accumulate != "auto" and int(method.accumulate) > method.batch_size:
        raise FiglangError(
            f"method.accumulate={method.accumulate} cuts a step into more parts than it has items; take "
            f"{method.batch_size} (method.batch_size) or less"
        )
    if method.accumulate == "auto" and (trainer.strategy != "auto" or trainer.devices not in ("auto", "1")):
        raise FiglangError(
            "method.accumulate=auto, which trainer=gpu_24gb and gpu_80gb also set, is for one process, since "
            "all would have to change at the same step; add method.accumulate=1 or another number"
        )


def continues(config: TrainConfig) -> bool:
    """Whether adapters are trained further.

    debug=fast makes a random network of any preset, with no adapters to go on from.
    """
    return config.peft.stack == "continue" and config.model.init != "tiny"
