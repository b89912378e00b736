"""The files that an engine opens: a whole network, its tokenizer, and adapters over it."""

import hashlib
import logging
from dataclasses import dataclass, replace
from pathlib import Path

from safetensors import safe_open
from transformers import PreTrainedTokenizerBase
from transformers.utils import cached_file

from figlang.config import ModelConfig
from figlang.errors import FiglangError
from figlang.models import adapters, gguf, opening, weights
from figlang.scoring.window import positions

log = logging.getLogger("figlang")

# The ranks for which vLLM has kernels.
RANKS = (8, 16, 32, 64, 128, 256, 320, 512)
WEIGHTS = "adapter_model.safetensors"
HEAD = "lm_head"
PIECES, PIECE = 256, 4096  # what is read of a file of weights to tell it from others


@dataclass(frozen=True)
class Parts:
    """The parts that an engine opens.

    Attributes:
        network: Folder or hub id of a whole network.
        revision: Revision of a hub id.
        adapters: Folder of LoRA adapters over the network; None without.
        rank: The smallest rank of RANKS that holds the adapters; 0 without.
        targets: The last names of the layers that have adapters, in order; None if the file does not say.
        tokenizer: The tokenizer.
        window: How many tokens the network has positions for; None if it does not say.
    """

    network: str
    revision: str | None
    adapters: str | None
    rank: int
    targets: list[str] | None
    tokenizer: PreTrainedTokenizerBase
    window: int | None

    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that identify the weights, by sizes and samples of their files."""
        digest = hashlib.sha256()
        for source, revision in ((self.network, self.revision), (self.adapters, None)):
            for file in [] if source is None else _files(source, revision):
                digest.update(f"{file.name}|{file.stat().st_size}|".encode())
                _sample(file, digest)
        return digest.hexdigest()[:12]


def parts(model: ModelConfig, cache: str) -> Parts:
    """Find the files of a causal model for an engine.

    Args:
        model: Settings of the model.
        cache: Folder for converted files.

    Raises:
        FiglangError: If there are none, or if no engine takes the adapters.
    """
    if model.init == "tiny":
        raise FiglangError(f"model.engine={model.engine} reads files, but model.init=tiny has none")
    over, rank, targets = None, 0, None
    base = model
    if weights.has_adapters(model):
        over, rank, targets = weights.locate(model.name_or_path), _rank(model), _targets(model)
        base = weights.below(replace(model, engine="transformers", tensor_parallel=1, window=None))
        if weights.has_adapters(base):
            raise FiglangError(
                f"{model.name_or_path}: its adapters lie over other adapters, which model.engine="
                f"{model.engine} cannot load; merge them first: figlang merge"
            )
        log.warning(
            "%s: the weights of %s are not compared with those of the training, since %s holds them",
            *(model.name_or_path, base.name_or_path, model.engine),
        )
    made = gguf.is_gguf(base.name_or_path)
    source = str(gguf.folder(base.name_or_path, cache)) if made else weights.locate(base.name_or_path)
    revision = None if made else base.revision
    own = over if over is not None and (Path(over) / "tokenizer_config.json").is_file() else source
    try:
        tokenizer = opening.read_tokenizer(own, None if own == over else revision, model.trust_remote_code)
        config = opening.read_config(source, revision, model.trust_remote_code)
    except FiglangError:
        raise
    except Exception as error:  # transformers raises its own kinds of errors too
        raise FiglangError(f"cannot load model {model.name_or_path!r}: {error}") from error
    window = positions(config)
    return Parts(source, revision, over, rank, targets, tokenizer, window)


def _rank(model: ModelConfig) -> int:
    from figlang.models import lora

    settings = lora.settings_of(weights.locate(model.name_or_path), model.revision)
    assert settings is not None, "has_adapters"
    if settings.peft_type != "LORA":
        raise FiglangError(
            f"{model.name_or_path} holds {settings.peft_type.value} adapters, but "
            f"model.engine={model.engine} loads LoRA only; leave model.engine out"
        )
    unlike = "DoRA" if settings.use_dora else "heads" if settings.modules_to_save else None
    most = max([settings.r, *(settings.rank_pattern or {}).values()])
    if unlike is None and most > RANKS[-1]:
        unlike = f"a rank of {most}"
    if unlike is not None:
        raise FiglangError(
            f"{model.name_or_path} holds adapters with {unlike}, which model.engine={model.engine} cannot "
            f"load; merge them first: figlang merge checkpoint={model.name_or_path} output=FOLDER"
        )
    return next(rank for rank in RANKS if rank >= most)


def _targets(model: ModelConfig) -> list[str] | None:
    path = adapters.file_of(weights.locate(model.name_or_path), WEIGHTS, model.revision)
    if path is None:
        return None
    with safe_open(path, framework="pt") as file:
        names = list(file.keys())
    targets = sorted({name.partition(".lora_")[0].rpartition(".")[2] for name in names})
    if HEAD in targets:  # vLLM applies them to the wrong rows of a prompt
        raise FiglangError(
            f"{model.name_or_path} holds adapters of {HEAD}, with which model.engine={model.engine} gives no "
            f"log-probabilities of texts; merge them first: figlang merge checkpoint={model.name_or_path} "
            "output=FOLDER"
        )
    return targets


def _files(source: str, revision: str | None) -> list[Path]:
    folder = Path(source)
    if not folder.is_dir():  # the engine has downloaded it
        name = cached_file(source, "config.json", revision=revision)
        folder = Path(str(name)).parent
    names = ("config.json", adapters.SETTINGS, "tokenizer.json")
    return [
        *(folder / name for name in names if (folder / name).is_file()),
        *sorted(path for kind in ("safetensors", "bin") for path in folder.glob(f"*.{kind}")),
    ]


def _sample(file: Path, digest: "hashlib._Hash") -> None:
    size = file.stat().st_size
    with file.open("rb") as content:
        for place in range(PIECES):
            content.seek(place * size // PIECES)
            digest.update(content.read(PIECE))
