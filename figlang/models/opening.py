"""The one door to model files from others: only here are `from_pretrained` and `from_config` called.

If `trust_remote_code` is not given, transformers asks "Do you wish to run the custom code? [y/N]" and takes a
`y` from stdin as consent. Here it is always given.
"""

import logging
from pathlib import Path
from typing import Any, TypeVar

from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)
from transformers.models.auto.tokenization_auto import get_tokenizer_config
from transformers.utils import cached_file

from figlang.errors import FiglangError, one_line
from figlang.files import hub
from figlang.models import adapters
from figlang.models.formats import FORMATS, Ability

log = logging.getLogger("figlang")

# transformers copies the code of model folders into this package before it runs it.
FOREIGN = "transformers_modules"
# Classes of tokenizers that are what their tokenizer.json describes, of transformers 5 and 4.
PLAIN = ("TokenizersBackend", "PreTrainedTokenizerFast")
Part = TypeVar("Part")
# The input formats of encoders that choose, and the classes that can read them.
HEADS: dict[str, Any] = {
    format.name: format.network for format in FORMATS.values() if format.ability is Ability.CHOOSE
}


def read_config(
    source: str, revision: str | None = None, trust: bool = False, base: str | None = None
) -> PreTrainedConfig:
    """Read the config.json of a folder or hub id.

    Adapters that peft wrote have none. Then it is that of the network below them, for their task: of `base`,
    if it is given, or of the network that they name.

    Args:
        source: The folder or hub id.
        revision: Branch, tag or commit of a hub id.
        trust: Whether code that comes with the model may run.
        base: Another place of the network below adapters.

    Raises:
        FiglangError: If only code that comes with the model could read it and `trust` is False, or if the
            network below adapters cannot be found.
        Exception: What transformers raises for other faults.
    """
    try:
        return _own_config(source, revision, trust)
    except (OSError, ValueError):
        below = adapters.below(source, revision, base)
        if below is None:
            raise
    config = _config_below(source, below, trust, given=base is not None)
    heads = AutoModelForSequenceClassification._model_mapping
    if below.task == "FEATURE_EXTRACTION":
        config.architectures = None
    elif below.task == "SEQ_CLS" and type(config) in heads:
        config.architectures = [heads[type(config)].__name__]
    return config


def _config_below(source: str, below: adapters.Below, trust: bool, given: bool) -> PreTrainedConfig:
    """The config.json of the network below adapters. If it cannot be found, the error says what to do."""
    try:
        if not Path(below.source).is_dir():
            hub.check(below.source, below.revision)
    except FiglangError as error:
        if given:
            raise
        raise FiglangError(adapters.absent(source, below.source, str(error))) from error
    try:
        return _own_config(below.source, below.revision, trust)
    except OSError as error:
        if given:
            raise
        raise FiglangError(adapters.absent(source, below.source, one_line(error))) from error


def _own_config(source: str, revision: str | None, trust: bool) -> PreTrainedConfig:
    try:
        config = AutoConfig.from_pretrained(source, revision=revision, trust_remote_code=trust)
    except ValueError as error:
        raise _refusal(source, error) from error
    attention = getattr(config, "_attn_implementation", None)
    # The `kernels` package would download and run this code.
    if not trust and isinstance(attention, str) and "/" in attention:
        raise FiglangError(
            f"{source}: its config.json names attention code ({attention}) that would be downloaded and "
            "run; remove that entry"
        )
    return config


def read_tokenizer(
    source: str, revision: str | None = None, trust: bool = False, **more: Any
) -> PreTrainedTokenizerBase:
    """Read the tokenizer of a folder or hub id. It raises as `read_config` does.

    A folder may say that its tokenizer.json is all of the tokenizer. AutoTokenizer does not believe this of
    some networks (Qwen2 for example): it puts the words of the folder into the usual tokenizer of such
    networks, which splits texts in another way. Here the folder is believed.
    """
    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            source, revision=revision, trust_remote_code=trust, **more
        )
        own = type(tokenizer).__module__.split(".")[0] == "transformers"
        if (
            isinstance(tokenizer, PreTrainedTokenizerFast)
            and type(tokenizer) is not PreTrainedTokenizerFast
            and own
            and not more
            and _is_plain(source, revision)
        ):
            tokenizer = PreTrainedTokenizerFast.from_pretrained(source, revision=revision)
    except ValueError as error:
        raise _refusal(source, error) from error
    # If files are missing, transformers makes a tokenizer of special tokens alone, or of these and a space.
    if len(tokenizer) - len(set(tokenizer.all_special_ids)) < 2:
        raise FiglangError(
            f"{source}: its tokenizer has no vocabulary; put the files of the tokenizer there too "
            "(tokenizer.json, or what tokenizer.save_pretrained writes)"
        )
    return _noted(source, tokenizer, tokenizer.init_kwargs.get("auto_map"), trust)


def read_network(
    kind: Any, source: str | None, revision: str | None = None, trust: bool = False, **more: Any
) -> tuple[PreTrainedModel, dict[str, Any]]:
    """Read the network of a folder or hub id. It raises as `read_config` does.

    Args:
        kind: A class of transformers, plain or Auto.
        source: Folder or hub id. None takes the weights from `state_dict` in `more`.
        revision: Revision on the hub.
        trust: Whether code that comes with the model may run.
        more: Further arguments of `from_pretrained`.

    Returns:
        The network, and what transformers reports about loading it.
    """
    try:
        network, loading_info = kind.from_pretrained(
            source, revision=revision, trust_remote_code=trust, output_loading_info=True, **more
        )
    except ValueError as error:
        config = None if source is None else read_config(source, revision, trust)
        raise _refusal(str(source), error, kind, config) from error
    return _noted(source, network, getattr(network.config, "auto_map", None), trust), loading_info


def build(kind: Any, config: PreTrainedConfig, trust: bool = False, **more: Any) -> PreTrainedModel:
    """Build a network with random weights by the Auto class `kind`. It raises as `read_config` does."""
    try:
        network: PreTrainedModel = kind.from_config(config, trust_remote_code=trust, **more)
    except ValueError as error:
        raise _refusal(config.name_or_path, error, kind, config) from error
    return network


def runs_foreign_code(*parts: object) -> bool:
    """Whether the class of a network, config or tokenizer came with the model's files."""
    return any(type(part).__module__.split(".")[0] == FOREIGN for part in parts)


def remedy(config: PreTrainedConfig, kind: Any) -> str:
    """Advice if a network cannot be read as `kind`: the formats for which transformers has a class."""
    others = [
        name for name, other in HEADS.items() if other is not kind and type(config) in other._model_mapping
    ]
    if kind not in HEADS.values() or not others:
        return "take another model"
    return f"try method.format={' or '.join(others)}, or another model"


def _is_plain(source: str, revision: str | None) -> bool:
    """Whether a folder or hub id says that its tokenizer is what tokenizer.json describes."""
    named = get_tokenizer_config(source, revision=revision).get("tokenizer_class")
    file = cached_file(
        source, "tokenizer.json", revision=revision, _raise_exceptions_for_missing_entries=False
    )
    return named in PLAIN and file is not None


def _refusal(
    source: str, error: ValueError, kind: Any = None, config: PreTrainedConfig | None = None
) -> Exception:
    if kind is not None and config is not None and "Unrecognized configuration class" in str(error):
        return ValueError(f"transformers has no such class for {config.model_type}; {remedy(config, kind)}")
    if "trust_remote_code" not in str(error):
        return error
    return FiglangError(
        f"{source} needs Python code that comes with it (its auto_map), and figlang does not run such "
        "code; take a model that transformers supports by itself or, if you have read that code and "
        "trust it, set model.trust_remote_code=true"
    )


def _noted(source: str | None, part: Part, auto_map: object, trust: bool) -> Part:
    if auto_map and not trust and source is not None:
        log.warning(
            "%s comes with its own code, which was not run: %s is transformers' class",
            source,
            type(part).__name__,
        )
    return part
