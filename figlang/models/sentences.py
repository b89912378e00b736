"""How a sentence-transformers folder makes its vectors: pooling, normalisation, similarity and prompt."""

from pathlib import Path
from typing import Any

from pydantic_core import from_json

from figlang.errors import FiglangError, one_line
from figlang.models.adapters import file_of
from figlang.types import COSINE_OF_MEANS, POOLINGS, SentenceVectors

# Settings of folders from before `pooling_mode`, in the order in which their vectors are joined.
SWITCHES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}


def read(source: str, revision: str | None = None) -> SentenceVectors | None:
    """How a folder or hub id makes vectors of sentences and compares them.

    Returns:
        None if it has no modules.json.

    Raises:
        FiglangError: If `dual` does not support a module, or if a file cannot be read.
    """
    try:
        modules = _json(source, "modules.json", revision)
        if modules is None:
            return None
        paths = {str(module["type"]).rpartition(".")[2]: str(module["path"]) for module in modules}
        foreign = [
            str(module["type"])
            for module in modules
            if not str(module["type"]).startswith("sentence_transformers.")
        ]
        more = sorted(paths.keys() - {"Transformer", "Pooling", "Normalize", "Dropout"})
        if foreign or more or "Pooling" not in paths or ".." in Path(paths["Pooling"]).parts:
            raise FiglangError(
                f"{source}: its modules.json has {', '.join(foreign or more or ['no usable Pooling'])}, "
                "which format=dual does not support; take a sentence encoder of a transformer, a "
                "pooling and a normalisation"
            )
        pooling = _json(source, f"{paths['Pooling']}/config.json", revision) or {}
        settings = _json(source, "config_sentence_transformers.json", revision) or {}
        reading = _json(source, "sentence_bert_config.json", revision) or {}
        return _vectors(source, pooling, settings, "Normalize" in paths, reading.get("do_lower_case") is True)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise FiglangError(
            f"{source}: its modules.json or a file named there cannot be read ({one_line(error)}); download "
            "the model again"
        ) from error


def _vectors(
    source: str, pooling: dict[str, Any], settings: dict[str, Any], normalised: bool, lower: bool
) -> SentenceVectors:
    mode = (
        pooling.get("pooling_mode")
        or [name for switch, name in SWITCHES.items() if pooling.get(switch)]
        or "mean"
    )
    modes = (mode,) if isinstance(mode, str) else tuple(mode)
    if unknown := [mode for mode in modes if mode not in POOLINGS]:
        raise FiglangError(
            f"{source}: its pooling is {unknown[0]!r}, not one of {', '.join(POOLINGS)}; take another model"
        )
    similarity = settings.get("similarity_fn_name") or "cosine"
    if similarity not in ("cosine", "dot"):
        raise FiglangError(
            f"{source}: its similarity is {similarity!r}, but format=dual has only cosine and dot; take "
            "another model"
        )
    if settings.get("truncate_dim") is not None:
        raise FiglangError(
            f"{source}: its vectors are cut to {settings['truncate_dim']} numbers (truncate_dim), which "
            "format=dual cannot do; set truncate_dim to null in its config_sentence_transformers.json to use "
            "whole vectors"
        )
    prompts, default = settings.get("prompts") or {}, settings.get("default_prompt_name")
    prompt = prompts[default] if default else ""
    if prompt and pooling.get("include_prompt") is False:
        raise FiglangError(
            f"{source}: its pooling leaves out the prompt, which format=dual cannot do; take another model"
        )
    if not isinstance(prompt, str):
        raise TypeError(f"the prompt is {prompt!r}")
    # For vectors of length one, dot product and cosine are equal.
    return SentenceVectors(modes, "cosine" if normalised else similarity, prompt, lower)


def recorded(vectors: SentenceVectors | None) -> dict[str, Any] | None:
    """The entry of a manifest for these vectors; None for the default, which manifests do not name."""
    if vectors in (None, COSINE_OF_MEANS):
        return None
    return {name: getattr(vectors, name) for name in ("pooling", "similarity", "prompt", "lower")}


def _json(source: str, name: str, revision: str | None) -> Any:
    path = file_of(source, name.lstrip("/"), revision)
    return None if path is None else from_json(Path(path).read_text(encoding="utf-8"))
