"""Write exported models, and read them back ready to score.

An export is a Hugging Face folder with a `figlang.json`, which says how inputs are worded and scores are
read. It holds a whole network (safetensors, config, tokenizer), which plain transformers loads, or adapters,
which peft lays over the network on which they were trained. Adapters use that network's tokenizer. Cards show
how.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from figlang.config import EvaluateConfig, ModelConfig, PathsConfig, ScoringConfig
from figlang.errors import FiglangError
from figlang.files.folders import whole_folder
from figlang.files.whole import write_text
from figlang.models import adapters, apart, gguf, networks, sentences, weights
from figlang.models import manifest as manifests
from figlang.models.fingerprint import fingerprint
from figlang.models.formats import CAUSAL, LETTER, MASKED, NLI, Format, of_scoring
from figlang.models.manifest import MANIFEST, UNTRAINED, Manifest
from figlang.models.served.endpoint import Endpoint, connect
from figlang.scoring.adapted import adapted
from figlang.scoring.requests import resolved_bos
from figlang.types import SentenceVectors

if TYPE_CHECKING:
    from peft import PeftModel

# What to do for a tiny network (debug=fast) if the files that say how an encoder is asked are not here.
NO_FILES = "; a tiny network needs no files with scoring=pll (masked-LM head) or scoring=nli (NLI classifier)"


@dataclass(frozen=True)
class Loaded:
    """A network that is ready to score."""

    network: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    manifest: Manifest

    def bos(self, scoring: ScoringConfig | None = None) -> str:
        """The beginning of every string under a scoring: `none`, or token ids as `bos_ids` takes them."""
        given = None if scoring is None else scoring.bos
        return resolved_bos(self.tokenizer, self.manifest.bos if given is None else given)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the network and its tokenizer, at the time of the first call."""
        return fingerprint(self.network, self.tokenizer)


@dataclass(frozen=True)
class Served:
    """A model behind an endpoint. Its network is not here."""

    endpoint: Endpoint
    manifest: Manifest

    def bos(self, scoring: ScoringConfig | None = None) -> str:
        """The text that is sent before every string, or `none`, or `server` if the server adds a token.

        `scoring` is the one with which the model was opened.
        """
        return self.manifest.bos


def local(loaded: Loaded | Served) -> Loaded:
    """The model, if its network is here.

    Raises:
        FiglangError: If it is served.
    """
    if isinstance(loaded, Served):
        raise FiglangError(
            f"{loaded.manifest.name} is served, and this needs a network; take a model by model.name_or_path="
        )
    return loaded


def export(
    network: "PreTrainedModel | PeftModel",
    tokenizer: PreTrainedTokenizerBase,
    manifest: Manifest,
    folder: Path,
    card: str = "",
    check: Callable[[], None] | None = None,
) -> None:
    """Write an export; adapters are written as adapters. The folder gets its name only when it is complete.

    Args:
        network: The network.
        tokenizer: Its tokenizer.
        manifest: What it needs besides its weights.
        folder: The folder to write.
        card: The text of README.md, if there is to be one.
        check: Raises FiglangError if the folder may not be replaced (`whole_folder`).
    """
    with whole_folder(folder, check) as beside:
        whole = beside  # folder of a whole network; adapters use the tokenizer of the network below
        if adapted(network):
            from figlang.models import lora

            lora.save(network, beside)
            whole = beside / adapters.OWN
        else:
            network.save_pretrained(beside)
        if whole.is_dir():
            tokenizer.save_pretrained(whole)
        manifests.write(beside, manifest)
        if card:
            write_text(beside / "README.md", card)
        else:  # peft's own README.md has no numbers
            (beside / "README.md").unlink(missing_ok=True)


def load(source: str, model: ModelConfig | None = None, cache: str = PathsConfig.cache) -> Loaded:
    """Load a model ready to score. Adapters are merged or stay apart, as `model.adapters` says.

    A network without figlang.json is used by its class: a multiple-choice network as `pair`, a sequence
    classifier as `nli`, a bare encoder as `dual`.

    Args:
        source: A run folder, an exported or released folder, a `package:` source or a hub id.
        model: Only `revision`, `allow_bin`, `trust_remote_code`, `adapters` and `base` have an effect.
        cache: Folder for converted files.
    """
    _check_here(model or ModelConfig())
    model, manifest = named(source, model)
    return _open(apart.settled(model), manifest, cache)


def _check_here(model: ModelConfig) -> None:
    """Check that the model runs in transformers. `figlang.models.hosted` opens it in another engine.

    Raises:
        FiglangError: If it runs in another engine.
    """
    if model.engine != "transformers":
        raise FiglangError(
            f"model.engine={model.engine} is for figlang evaluate and generate; this needs the network "
            "itself, so leave model.engine out"
        )


def load_unmerged(source: str, model: ModelConfig | None = None, cache: str = PathsConfig.cache) -> Loaded:
    """Load adapters over the network on which they were trained; the arguments are those of `load`.

    Raises:
        FiglangError: If the source has no adapters.
    """
    model, manifest = named(source, model)
    network, tokenizer = weights.unmerged(model, cache)
    return Loaded(network, tokenizer, manifest)


def named(source: str, model: ModelConfig | None) -> tuple[ModelConfig, Manifest]:
    """The settings with which a checkpoint is opened, and its manifest; the arguments are those of `load`."""
    located, given = weights.locate(source), model or ModelConfig()
    manifest = manifests.read(located, source, given.revision, given.trust_remote_code, given.base)
    return replace(
        ModelConfig(name=manifest.name, name_or_path=located, max_length=manifest.max_length),
        revision=given.revision,
        allow_bin=given.allow_bin,
        trust_remote_code=given.trust_remote_code,
        adapters=given.adapters,
        base=given.base,
    ), manifest


def _open(model: ModelConfig, manifest: Manifest, cache: str, kept: Sequence[Loaded] = ()) -> Loaded:
    if same := _again(kept, manifest.input_format):
        return replace(same, manifest=manifest)
    if manifest.input_format.causal:
        network, tokenizer = networks.causal(model, cache)
    else:
        network, tokenizer = networks.build(
            model, manifest.format, [], manifest.options, trained=True, cache=cache
        )
    return Loaded(network.eval(), tokenizer, manifest)


def _again(kept: Sequence[Loaded], format: Format) -> Loaded | None:
    """The model that was opened before and has the network of an input format; None if there is none."""
    return next((one for one in kept if one.manifest.input_format.network is format.network), None)


def model_of(
    config: EvaluateConfig, needed: str | None = None, kept: Sequence[Loaded] = ()
) -> Loaded | Served:
    """The model of an evaluation: its checkpoint, or its `model=` as it comes.

    Args:
        config: Settings of the evaluation.
        needed: The ability that a served model must have (see `connect`), if the scoring does not say it.
        kept: The same model as it was opened before, perhaps for other scorings. Its networks are used again.
    """
    if config.checkpoint is not None:
        loaded = (
            kept[0]
            if kept
            else load(config.checkpoint, replace(config.model, revision=config.revision), config.paths.cache)
        )
        asked = None if config.scoring is None else of_scoring(config.scoring.kind)
        if asked is LETTER and loaded.manifest.input_format.causal:
            return replace(loaded, manifest=replace(loaded.manifest, format=LETTER.name))
        return loaded
    if config.model.served:
        return served(config.model, config.scoring or ScoringConfig(), config.paths.cache, needed)
    return pretrained(config.model, config.scoring, config.paths.cache, kept)


def served(model: ModelConfig, scoring: ScoringConfig, cache: str, needed: str | None = None) -> Served:
    """The model behind `model.endpoint`, probed for `needed` or what the scoring needs. Other arguments
    are those of `connect`.

    Raises:
        FiglangError: If it lacks one, see `connect`.
    """
    wanted = of_scoring(scoring.kind)
    if wanted.network is not CAUSAL.network:
        raise FiglangError(
            f"scoring={scoring.name} needs a network here, but model=served has none; use scoring=clean "
            "or letter"
        )
    asked = model.bos if scoring.bos is None else scoring.bos
    if asked == "add":
        raise FiglangError(
            "bos=add needs a tokenizer here, but a served model has none; give the token's text, for "
            "example <|endoftext|>"
        )
    # With auto, the server adds what its tokenizer adds.
    manifest = causal_manifest(model, scoring, "none" if asked == "auto" else asked)
    endpoint = connect(
        replace(model, bos=manifest.bos), cache, needed or ("reply" if wanted is LETTER else "prompts")
    )
    if manifest.bos == "none" and endpoint.abilities.starts:
        manifest = replace(manifest, bos="server")
    return Served(endpoint, replace(manifest, base=model.name_or_path, format=wanted.name))


def pretrained(
    model: ModelConfig, scoring: ScoringConfig | None, cache: str, kept: Sequence[Loaded] = ()
) -> Loaded:
    """A `model=` as it comes, for zero-shot scoring.

    Args:
        model: The options of the model.
        scoring: The scoring; None for the default of its kind.
        cache: Folder for converted files.
        kept: As for `model_of`.

    Raises:
        FiglangError: If the scoring needs another kind of network.
    """
    _check_here(model)
    if scoring is not None and of_scoring(scoring.kind) is MASKED:
        return _masked(model, scoring, cache, kept)
    return (_causal if model.causal else _encoder)(model, scoring, cache, kept)


def _masked(model: ModelConfig, scoring: ScoringConfig, cache: str, kept: Sequence[Loaded]) -> Loaded:
    if model.causal:
        raise FiglangError(
            f"scoring={scoring.name} is for encoders, but {model.name} is causal; take scoring=clean"
        )
    manifest = replace(causal_manifest(model, scoring, "none"), format=MASKED.name)
    if same := _again(kept, MASKED):
        return replace(same, manifest=manifest)
    return Loaded(*networks.masked(model, cache), manifest)


def _encoder(model: ModelConfig, scoring: ScoringConfig | None, cache: str, kept: Sequence[Loaded]) -> Loaded:
    if scoring is not None and of_scoring(scoring.kind).network is CAUSAL.network:
        raise FiglangError(
            f"scoring={scoring.name} is for causal models, but {model.name} is an encoder; leave "
            "scoring= and protocol= out, or take pll if it has a masked-LM head"
        )
    if model.init == "tiny" and scoring is not None:
        # debug=fast has no files from which a manifest could be read
        return _tiny_classifier(model, scoring, kept)
    source, trust = model.name_or_path, model.trust_remote_code
    try:
        manifest = manifests.read(weights.locate(source), source, model.revision, trust, model.base)
    except FiglangError as error:
        if model.init != "tiny":
            raise
        raise FiglangError(f"{error}{NO_FILES}") from error
    manifest = replace(manifest, name=model.name)
    if model.init == "tiny":
        manifest = replace(manifest, base=networks.describe(model))
    if scoring is not None and not manifest.input_format.classes:
        raise FiglangError(
            f"scoring={scoring.name} needs a classifier of premises and hypotheses, but "
            f"{model.name} is read as {manifest.format}; use model=nli_roberta, "
            "model=nli_deberta_v3_small or a run of method=nli"
        )
    if manifest.settings == UNTRAINED:
        # NLI networks are read at their own length unless a preset or the user names one.
        own = bool(manifest.input_format.classes) and model.max_length == ModelConfig.max_length
        length = manifest.max_length if own else model.max_length
        manifest = replace(manifest, max_length=length, text=scoring.text if scoring else manifest.text)
        model = replace(model, max_length=length)
    return _open(model, manifest, cache, kept)


def _causal(model: ModelConfig, scoring: ScoringConfig | None, cache: str, kept: Sequence[Loaded]) -> Loaded:
    if scoring is not None and of_scoring(scoring.kind).network is not CAUSAL.network:
        raise FiglangError(
            f"scoring={scoring.name} is not for causal models like {model.name}; use scoring=clean or "
            "scoring=pmi"
        )
    same = _again(kept, CAUSAL)
    model = apart.settled(model)
    network, tokenizer = (same.network, same.tokenizer) if same else networks.causal(model, cache)
    scored = scoring or ScoringConfig()
    manifest = causal_manifest(model, scored, beginning(model, scored, tokenizer))
    manifest = manifest.descended(ancestry(model))
    return Loaded(network, tokenizer, replace(manifest, format=of_scoring(scored.kind).name))


def _tiny_classifier(model: ModelConfig, scoring: ScoringConfig, kept: Sequence[Loaded]) -> Loaded:
    manifest = Manifest(
        name=model.name,
        base=networks.describe(model),
        method="none",
        format=NLI.name,
        text=scoring.text,
        max_length=model.max_length,
        scale=20.0,
        options=len(NLI.classes),
        trained_on="nothing",
        settings=UNTRAINED,
        seed=None,
    )
    if same := _again(kept, NLI):
        return replace(same, manifest=manifest)
    network, tokenizer = networks.build(model, NLI.name, [], len(NLI.classes))
    return Loaded(network.eval(), tokenizer, manifest)


def beginning(model: ModelConfig, scoring: ScoringConfig, tokenizer: PreTrainedTokenizerBase) -> str:
    """The beginning of every string of a causal model, as its manifest records it.

    With `model.bos=auto` it is the one with which the run or export was trained. For other weights, it is
    what the tokenizer itself puts before a text.
    """
    if scoring.bos is not None:
        return resolved_bos(tokenizer, scoring.bos)
    if model.init == "tiny" and model.bos.isdigit():  # its tokenizer has other ids
        return resolved_bos(tokenizer, "add")
    before = ancestry(model) if model.bos == "auto" else None
    return resolved_bos(tokenizer, model.bos) if before is None else before.bos


def causal_manifest(
    model: ModelConfig, scoring: ScoringConfig, bos: str, method: str = "zero-shot"
) -> Manifest:
    """The manifest of a causal model that was not trained here. Arguments are those of `Manifest`."""
    return Manifest(
        name=model.name,
        base=networks.describe(model),
        method=method,
        format=CAUSAL.name,
        text=scoring.text,
        max_length=model.max_length,
        scale=1.0,
        options=2,
        trained_on="nothing",
        settings=UNTRAINED,
        seed=None,
        scoring=asdict(scoring),
        bos=bos,
    )


def sentence_vectors(model: ModelConfig) -> SentenceVectors:
    """How the dual encoder from which a training starts makes vectors of sentences.

    Other networks have the default.
    """
    if model.init == "tiny" or gguf.is_gguf(model.name_or_path):
        return SentenceVectors()
    located = weights.locate(model.name_or_path)
    manifest = manifests.stored(located, model.revision)
    if manifest is not None:
        return manifest.sentence_vectors
    return sentences.read(located, model.revision) or SentenceVectors()


def ancestry(model: ModelConfig) -> Manifest | None:
    """The manifest of the run or export from which a training starts; None for other weights."""
    if model.init == "tiny" or gguf.is_gguf(model.name_or_path):
        return None
    folder = Path(weights.locate(model.name_or_path))
    return manifests.read(str(folder), model.name_or_path, None) if (folder / MANIFEST).is_file() else None
