"""The manifest of a network (figlang.json): everything that it needs besides its weights."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter
from pydantic_core import from_json
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES
from transformers.utils import cached_file
from typing_extensions import TypedDict

from figlang.config import ScoringConfig
from figlang.errors import FiglangError, one_line
from figlang.files.whole import write_text
from figlang.models import opening, sentences
from figlang.models.formats import FORMATS, Format, untrained
from figlang.models.soundness import validate
from figlang.scoring.window import positions
from figlang.types import COSINE_OF_MEANS, POOLINGS, SentenceVectors

MANIFEST = "figlang.json"
# One of these is in the folder of a network or of a run.
NETWORK = (MANIFEST, "config.json", "adapter_config.json", f"model/{MANIFEST}")
UNTRAINED = "none"  # settings of a network that was not trained here


@dataclass(frozen=True)
class Manifest:
    """Everything that a network needs besides its weights, and where it comes from.

    Attributes:
        name: Name of the model.
        base: Source of the network from which training began.
        method: How it was trained.
        format: How inputs are laid out and scores are read: pair, joint, dual or nli (see Encoder); causal,
            by log-probabilities; pll, by those of a masked-LM head; letter, by replies to messages.
        text: How texts are worded.
        max_length: Longest input, in tokens.
        scale: Factor of a dual encoder's cosine.
        options: Number of options, or of classes.
        trained_on: Names of the data.
        settings: Identifies everything that determined the training: settings and hashes of the data
            (recipe.json of the run).
        seed: Seed of the training.
        scoring: Scoring of a causal model.
        bos: The token before every string of a causal model.
        base_precision: For adapters, the number format of the network below them in training.
        base_sha256: For adapters, the fingerprint of that network (figlang/models/lora.py).
        vectors: Fields of SentenceVectors under dual, if they are not the default (the cosine of mean token
            states).
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
    base_precision: str | None = None
    base_sha256: str | None = None
    vectors: dict[str, Any] | None = None

    @property
    def input_format(self) -> Format:
        """The input format, with all that it decides."""
        return FORMATS[self.format]

    @property
    def described(self) -> str:
        """The input format of an encoder in a signature, with what makes scores of its vectors."""
        if not self.input_format.bare:
            return self.format
        settings: dict[str, Any] = {"scale": f"{self.scale:g}", **(self.vectors or {})}
        if self.vectors:
            settings |= {
                "pooling": "+".join(self.vectors["pooling"]),
                "prompt": repr(self.vectors["prompt"]),
            }
        return f"{self.format}({','.join(f'{name}={value}' for name, value in settings.items())})"

    @property
    def sentence_vectors(self) -> SentenceVectors:
        """How sentences become vectors under dual."""
        if self.vectors is None:
            return COSINE_OF_MEANS
        return SentenceVectors(**{**self.vectors, "pooling": tuple(self.vectors["pooling"])})

    def descended(self, before: "Manifest | None") -> "Manifest":
        """This manifest with the training of the export whose weights it describes, if it is one."""
        if before is None:
            return self
        return replace(
            self,
            method=before.method,
            trained_on=before.trained_on,
            settings=before.settings,
            seed=before.seed,
        )


def write(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of the network in a folder."""
    write_text(folder / MANIFEST, json.dumps(asdict(manifest), indent=2) + "\n")


class _Checked(TypedDict, total=False):
    """The types of a manifest's fields."""

    name: str
    base: str
    method: str
    format: str
    text: Literal["clean", "raw", "legacy"]
    max_length: Annotated[int, Field(ge=1)]
    scale: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    options: Annotated[int, Field(ge=1)]
    trained_on: str
    settings: str
    seed: int | None
    scoring: dict[str, str | int | float | bool | None] | None
    bos: str
    base_precision: str | None
    base_sha256: str | None
    vectors: dict[str, list[str] | str | bool] | None


CHECK = TypeAdapter(_Checked)


def stored(located: str, revision: str | None) -> Manifest | None:
    """The figlang.json of a folder or hub id, None if it has none.

    Raises ValueError, TypeError or OSError if it cannot be read.
    """
    path = cached_file(located, MANIFEST, revision=revision, _raise_exceptions_for_missing_entries=False)
    if path is None:
        here = Path(located) / MANIFEST
        if here.is_symlink() or here.exists():
            raise ValueError(f"{MANIFEST} is not a file")
        return None
    content = from_json(Path(path).read_text(encoding="utf-8"))
    manifest = Manifest(**content)
    validate(CHECK, content)
    if manifest.scoring is not None:
        ScoringConfig(**manifest.scoring)  # its choices
    if manifest.format not in FORMATS:
        raise ValueError(f"format is {manifest.format!r}")
    if unknown := set(manifest.sentence_vectors.pooling) - set(POOLINGS):
        raise ValueError(f"pooling is {', '.join(sorted(unknown))}")
    return manifest


def read(
    located: str, source: str, revision: str | None, trust: bool = False, base: str | None = None
) -> Manifest:
    """The manifest of a folder or hub id. Without figlang.json, it is made from the class of the network.

    Args:
        located: The folder or hub id.
        source: Its name for error messages.
        revision: Revision on the hub.
        trust: Whether code that comes with the model may run.
        base: The network below adapters, in place of the one that they name.

    Raises:
        FiglangError: If neither says how to read the network.
    """
    try:
        manifest = stored(located, revision)
        if manifest is not None:
            return manifest
        config = opening.read_config(located, revision, trust, base)
        vectors = sentences.read(located, revision)
    except FiglangError:
        raise
    except OSError as error:
        raise FiglangError(
            f"no checkpoint {source!r}: neither a folder here nor reachable as a hub id ({one_line(error)})"
        ) from error
    except Exception as error:  # transformers raises its own kinds of errors too
        _check_holds(Path(located), source)
        raise FiglangError(
            f"{source}: its {MANIFEST} or config.json cannot be read ({one_line(error)}); export the model "
            "again"
        ) from error
    classes = config.architectures or []
    format = untrained(classes)
    # Sentence encoders often name the class that they were pretrained as.
    if format.bare and vectors is None and any("For" in name for name in classes):
        masked = config.model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES
        raise FiglangError(
            f"{source}: {classes[0]} has no {MANIFEST}, and only multiple-choice networks, NLI classifiers, "
            "sentence encoders and bare encoders can do without; train it first, or "
            + (
                "score a masked-LM head by figlang evaluate with scoring=pll"
                if masked
                else "take another model"
            )
        )
    return _made(source, revision, config, vectors)


def _made(source: str, revision: str | None, config: Any, vectors: SentenceVectors | None) -> Manifest:
    """The manifest of a network without figlang.json, from its config.json."""
    format = untrained(config.architectures or [])
    return Manifest(
        name=source.rstrip("/").split("/")[-1],
        base=source if revision is None else f"{source}@{revision}",
        method="none",
        format=format.name,
        text=format.text,
        max_length=min(format.max_length, positions(config) or format.max_length),
        scale=20.0,
        options=config.num_labels if format.classes else 2,
        trained_on="nothing",
        settings=UNTRAINED,
        seed=None,
        vectors=sentences.recorded(vectors) if format.bare else None,
    )


def _check_holds(folder: Path, source: str) -> None:
    """Raise FiglangError if a folder holds no network. It names a run within it."""
    if not folder.is_dir() or _holds_network(folder):
        return
    below = next((path for path in sorted(folder.iterdir()) if _holds_network(path)), None)
    meant = "" if below is None else f", for example {Path(source) / below.name}"
    raise FiglangError(
        f"{source} holds no model, neither {MANIFEST} nor config.json; give the folder of a run or a "
        f"checkpoint{meant}"
    )


def _holds_network(folder: Path) -> bool:
    """Whether a folder is that of a run or of a network."""
    return any((folder / name).exists() for name in NETWORK)
