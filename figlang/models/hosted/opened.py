"""The model of an evaluation inside another engine (`model.engine=vllm`)."""

from dataclasses import dataclass, replace

from transformers import PreTrainedTokenizerBase

from figlang.config import EvaluateConfig, ModelConfig, ScoringConfig
from figlang.errors import FiglangError
from figlang.models import checkpoint
from figlang.models.checkpoint import Loaded, Served
from figlang.models.formats import CAUSAL, LETTER, of_scoring
from figlang.models.hosted.engine import Engine
from figlang.models.manifest import Manifest
from figlang.scoring.requests import resolved_bos


@dataclass(frozen=True)
class Hosted:
    """A model inside an engine. Its network is not an object here."""

    engine: Engine
    manifest: Manifest

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """Its tokenizer."""
        return self.engine.parts.tokenizer

    def bos(self, scoring: ScoringConfig | None = None) -> str:
        """The beginning of every string under a scoring, as for `Loaded`."""
        given = None if scoring is None else scoring.bos
        return resolved_bos(self.tokenizer, self.manifest.bos if given is None else given)


def not_here(model: Hosted) -> FiglangError:
    """The error for what an engine cannot be asked: letters and words by next-token probabilities."""
    return FiglangError(
        f"{model.manifest.name} is in model.engine={model.engine.model.engine}, which scores texts and "
        "replies; this needs the network itself, so leave model.engine out"
    )


# A model that an evaluation has opened.
Opened = Loaded | Served | Hosted


def hosted(config: EvaluateConfig) -> Hosted:
    """Open the model of an evaluation in its engine: a causal checkpoint, or a causal `model=` as it comes.

    Args:
        config: Settings of the evaluation.

    Raises:
        FiglangError: If the model is not causal, or as for `Engine`.
    """
    scoring = config.scoring or ScoringConfig()
    if config.checkpoint is not None:
        model, manifest = _of_checkpoint(config)
        engine = Engine(model, config.paths.cache)
        chats = config.scoring is not None and of_scoring(scoring.kind) is LETTER
        return Hosted(engine, replace(manifest, format=LETTER.name) if chats else manifest)
    model = config.model
    if not model.causal or of_scoring(scoring.kind).network is not CAUSAL.network:
        raise FiglangError(
            f"model.engine={model.engine} is for causal models with scoring=clean or the like, or letter; "
            "leave it out"
        )
    engine = Engine(model, config.paths.cache)
    manifest = checkpoint.causal_manifest(
        model, scoring, checkpoint.beginning(model, scoring, engine.parts.tokenizer)
    ).descended(checkpoint.ancestry(model))
    return Hosted(engine, replace(manifest, format=of_scoring(scoring.kind).name))


def _of_checkpoint(config: EvaluateConfig) -> tuple[ModelConfig, Manifest]:
    asked = replace(config.model, revision=config.revision)
    model, manifest = checkpoint.named(str(config.checkpoint), asked)
    if not manifest.input_format.causal:
        raise FiglangError(
            f"model.engine={asked.engine} is for causal models, but {config.checkpoint} has the input format "
            f"{manifest.format}; leave it out"
        )
    dtype, _, bits = (manifest.base_precision or "float32").partition("+")
    return replace(
        model,
        family="causal",
        engine=asked.engine,
        tensor_parallel=asked.tensor_parallel,
        window=asked.window,
        dtype=dtype,
        quantization=bits or "none",
    ), manifest
