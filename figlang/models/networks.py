"""Build a network and its tokenizer from a name."""

import logging
from collections.abc import Sequence
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from figlang.config import ModelConfig, PathsConfig
from figlang.errors import FiglangError
from figlang.models import attention, layout, soundness, tiny, weights
from figlang.models.formats import CAUSAL, FORMATS, MASKED
from figlang.scoring.encode import padding
from figlang.scoring.window import window

log = logging.getLogger("figlang")

# Published encoders whose files hold the masked-LM head that they were pretrained with.
WITH_MASKED_HEAD = "bert, bert_base, roberta, roberta_base, modernbert or an ELECTRA generator"


def build(
    model: ModelConfig,
    format: str,
    texts: list[str],
    options: int,
    trained: bool = False,
    cache: str = PathsConfig.cache,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The network and the tokenizer of `begin`, whose arguments are those of this function."""
    return begin(model, format, texts, options, trained, cache)[:2]


def begin(
    model: ModelConfig,
    format: str,
    texts: list[str],
    options: int,
    trained: bool = False,
    cache: str = PathsConfig.cache,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, list[str]]:
    """A network in float32 with the head that `format` needs, its tokenizer, and its new modules.

    Weights that the source has in the same shape are kept, also those of its head. The log says which are
    new. The head and the pooler may be new; many published encoders have no pooler. The rest of the body may
    be new with `model.init=partial` only.

    Args:
        model: Settings of the model.
        format: Name of an input format.
        texts: Train the tokenizer of a tiny random network (`model.init=tiny`).
        options: Largest number of options of an item (joint head), or number of classes (nli).
        trained: The network is to be evaluated, so nothing in it may be new.
        cache: Folder for converted files.

    Returns:
        The network, the tokenizer, and the names of modules whose weights are new.

    Raises:
        FiglangError: If the network cannot be loaded, if the source lacks weights of the body, or if
            it lacks any weights and `trained` is set.
    """
    needed = FORMATS[format]
    kind = needed.network
    if model.init == "tiny":
        network, tokenizer = tiny.build(model, kind, texts, options)
        attention.choose(network, model.attention)
        if needed.classes:
            name_classes(network, needed.classes)
        return _without_pooler(network) if needed.bare else _padded(network, tokenizer), tokenizer, []
    more: dict[str, Any] = {"ignore_mismatched_sizes": True}
    if needed.counted:
        more["num_labels"] = options
    network, tokenizer, missing = weights.load(model, kind, torch.float32, more, cache)
    attention.choose(network, model.attention)
    check_positions(network, model.name_or_path, model.max_length, "model.max_length")
    network = _without_pooler(network) if needed.bare else _padded(network, tokenizer)
    new = sorted({name.rpartition(".")[0] for name, _ in network.named_parameters() if name in missing})
    if new and trained:
        raise FiglangError(
            f"{model.name_or_path}: as {kind.__name__} it has no trained weights for {', '.join(new)}; "
            "train it first, or name a model that has them"
        )
    heads = head_modules(network)
    if model.init != "partial":
        _check_body(model.name_or_path, new, heads)
    if not trained:
        kept = ", head included" if heads and not new else ""
        begun = f"; new, since it has none in this shape: {', '.join(new)}" if new else ""
        log.info("weights of %s%s%s", model.name_or_path, kept, begun)
    if needed.classes and {name.split(".")[0] for name in new} & set(heads):
        name_classes(network, needed.classes)
    return network, tokenizer, new


def _check_body(source: str, new: Sequence[str], heads: Sequence[str]) -> None:
    """Check that all modules whose weights are new are in a head or a pooler.

    Raises:
        FiglangError: If one is not.
    """
    body = [name for name in new if name.split(".")[0] not in heads and "pooler" not in name.split(".")]
    if body:
        others = f" and {len(body) - 1} more modules" if body[1:] else ""
        raise FiglangError(
            f"{source} has no weights for {body[0]}{others} below its head; take another model, or let them "
            "begin random with model.init=partial"
        )


def _padded(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    """Set the padding token of a classifier that reads the last word (Llama, GPT-2).

    It looks for the last token that is not padding.
    """
    if hasattr(network, "score"):
        network.config.get_text_config().pad_token_id = padding(tokenizer)
        network.config.pad_token_id = padding(tokenizer)
    return network


def check_positions(network: PreTrainedModel, name: str, length: int, option: str) -> None:
    """Check that no input is longer than the network's table of positions.

    Args:
        network: The network.
        name: Its name, for the error message.
        length: Number of tokens of the longest input.
        option: The option that sets this number.

    Raises:
        FiglangError: If `length` tokens are too many.
    """
    most = window(network)
    if most is not None and most < length:
        raise FiglangError(
            f"{option}={length} is more than the {most} tokens for which {name} has positions; set "
            f"{option}={most}"
        )


def name_classes(network: PreTrainedModel, names: Sequence[str]) -> None:
    """Name the outputs of an NLI head; the names travel with every export."""
    network.config.id2label = dict(enumerate(names))
    network.config.label2id = {name: index for index, name in enumerate(names)}


def causal(
    model: ModelConfig, cache: str, texts: Sequence[str] = ()
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A causal language model and its tokenizer.

    A GGUF file is converted once. Large networks may be spread over devices and stored in few bits, see
    figlang/models/layout.py.

    Args:
        model: Settings of the model.
        cache: Folder for converted files.
        texts: Train the tokenizer of a tiny random network (`model.init=tiny`).

    Raises:
        FiglangError: If the files lack weights. transformers would make random ones.
    """
    if model.init == "tiny":
        network, tokenizer = tiny.build(model, CAUSAL.network, texts, 1)
        if model.quantization != "none":
            log.info("model.quantization=%s: a tiny network keeps all its bits", model.quantization)
        return attention.choose(network, model.attention), tokenizer
    more = layout.arguments(model)
    network, tokenizer, missing = weights.load(
        model, CAUSAL.network, getattr(torch, model.dtype), more, cache
    )
    soundness.check_complete(f"model {model.name_or_path!r}", network, missing)
    return attention.choose(network, model.attention).eval(), tokenizer


def masked(
    model: ModelConfig, cache: str = PathsConfig.cache
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """An encoder with its masked-LM head, and its tokenizer; both tiny and random with `model.init=tiny`.

    Raises:
        FiglangError: If the files have no such head. transformers would make a random one.
    """
    if model.init == "tiny":
        network, tokenizer = tiny.build(model, MASKED.network, (), 1)
        return attention.choose(network, model.attention).eval(), tokenizer
    dtype = getattr(torch, model.dtype)
    network, tokenizer, missing = weights.load(model, MASKED.network, dtype, {}, cache)
    if missing:
        raise FiglangError(
            f"model {model.name_or_path!r} has no masked-LM head ({missing[0]} and {len(missing) - 1} "
            f"more weights are missing), but scoring=pll needs one; take {WITH_MASKED_HEAD}"
        )
    return attention.choose(network, model.attention).eval(), tokenizer


def _without_pooler(network: PreTrainedModel) -> PreTrainedModel:
    """Drop the pooler of an encoder.

    Mean pooling does not use it, and unused weights stall distributed training.
    """
    if getattr(network, "pooler", None) is not None:
        network.pooler = None
    return network


def describe(model: ModelConfig) -> str:
    """Where a network's weights come from, for cards and signatures."""
    if model.init == "tiny":
        return f"random:{model.architecture}"
    return model.name_or_path if model.revision is None else f"{model.name_or_path}@{model.revision}"


def head_modules(network: PreTrainedModel) -> list[str]:
    """Names of the trainable modules on top of the encoder; empty for a bare encoder."""
    if network.base_model is network:
        return []
    return [
        name
        for name, child in network.named_children()
        if name != network.base_model_prefix and any(True for _ in child.parameters())
    ]
