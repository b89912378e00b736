"""GGUF files (llama.cpp's format) as ordinary model folders, converted once."""

import importlib.util
import logging
import re
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, modeling_gguf_pytorch_utils
from transformers.utils import logging as switched

from figlang.errors import FiglangError
from figlang.files.folders import whole_folder
from figlang.files.sources import local_path, sha256
from figlang.files.whole import lock
from figlang.machine.faults import explain
from figlang.models import opening, soundness

log = logging.getLogger("figlang")

# Version of the conversion. Folders of another version are not used: in those of version 1, weights that the
# file lacked were random.
CONVERSION = 2

# The end of a GGUF file's name says how most of its weights are stored: Q4_1, IQ2_XS, F16.
_ENCODED = re.compile(
    r"(?P<name>.+)[.-](?P<encoding>(?:I?Q(?P<few>\d)\w*|B?F(?P<many>16|32)))\.gguf", re.IGNORECASE
)


def is_gguf(source: str) -> bool:
    """Whether a model source is a GGUF file and not a folder or hub id."""
    return source.endswith(".gguf")


def folder(source: str, cache: str) -> Path:
    """The float32 folder (safetensors, config, tokenizer) of a GGUF file.

    It is `<cache>/gguf/<start of the file's sha256>-<CONVERSION>`. The first call converts the file, and
    later calls find the folder; calls of other processes wait for it. A half-written folder never has the
    name. Quantised weights become the
    float32 values that they stand for.

    Args:
        source: A local path or package:<module>/<path>.
        cache: Folder for converted files.

    Raises:
        FiglangError: If the file, a package that reads it or space to write is missing, or if transformers
            cannot read it.
    """
    path = local_path(source)
    if not path.is_file():
        raise FiglangError(
            f"no such GGUF file: {path}; give a path or package:<module>/<path> that ends in .gguf"
        )
    target = Path(cache).expanduser() / "gguf" / f"{sha256(path)[:16]}-{CONVERSION}"
    if (target / "config.json").is_file():
        return target
    absent = [name for name in ("gguf", "accelerate") if importlib.util.find_spec(name) is None]
    if absent:
        raise FiglangError(
            f"reading {path.name} needs {' and '.join(absent)}; install with `pip install 'figlang[gguf]'`"
        )
    # Whoever waits here finds the folder: of many jobs with one file, one converts it.
    with lock(
        target.with_name(f".{target.name}.convert.lock"), target.parent, "paths.cache=DIR", patient=True
    ):
        if not (target / "config.json").is_file():
            log.info("converting %s to float32 in %s; this happens once", path.name, target)
            # transformers draws weights before it reads them, and a seed has to mean the same in a later
            # process.
            with whole_folder(target) as made, torch.random.fork_rng(devices=[]):
                _convert(path, made)
    return target


def advice(source: str, folder: str) -> str:
    """What to do about a source that cannot be loaded, if GGUF files have to do with it; else empty.

    Args:
        source: The source as it was given.
        folder: The folder or hub id that was read.
    """
    if is_gguf(source):
        return f"; if {folder}, made of it, is damaged, delete that folder"
    if (Path(folder) / "config.json").is_file():
        return ""
    file = next(iter(sorted(Path(folder).glob("*.gguf"))), None)
    return f"; to read a GGUF file, give the file: {file}" if file else ""


def title(source: str) -> str:
    """The network in a GGUF file and its number of bits, by its name: "Some-8B in 4 bits, Q4_1".

    Empty if the name does not say it.
    """
    parts = _ENCODED.fullmatch(Path(source).name)
    return (
        ""
        if parts is None
        else f"{parts['name']} in {parts['few'] or parts['many']} bits, {parts['encoding']}"
    )


def quantization(source: str) -> str:
    """The number format of most weights in a GGUF file, for example Q4_1; "unknown" if it does not say."""
    if importlib.util.find_spec("gguf") is None:
        return "unknown"
    import gguf

    try:
        file_type = gguf.GGUFReader(local_path(source)).fields["general.file_type"].contents()
        return gguf.LlamaFileType(file_type).name.removeprefix("MOSTLY_").removeprefix("ALL_")
    except Exception:  # the reader of a damaged file raises anything
        return "unknown"


def _convert(path: Path, target: Path) -> None:
    where, file = str(path.parent), path.name
    if not sys.stderr.isatty():
        # The bar is not one of those that transformers can switch off, and its steps would fill a log.
        modeling_gguf_pytorch_utils.tqdm = switched.tqdm
    try:
        tokenizer = opening.read_tokenizer(where, gguf_file=file)
        loaded, loading_info = opening.read_network(
            AutoModelForCausalLM, where, dtype=torch.float32, gguf_file=file
        )
    except FiglangError:
        raise
    except Exception as error:  # the reader believes the file's sizes, and raises whatever they lead to
        if explain(error, training=False):
            raise  # a lack of memory is not a fault of the file
        why = " ".join(str(error).split())[:300]
        kind = "" if isinstance(error, ImportError) else ", which may be cut short or of an unknown kind"
        raise FiglangError(f"transformers cannot read {path}{kind}: {why}") from error
    soundness.check_complete(str(path), loaded, loading_info["missing_keys"])
    # A network that was loaded from GGUF counts as quantised and cannot be saved. The same weights in a new
    # network can.
    config = loaded.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    network = opening.build(AutoModelForCausalLM, config, dtype=torch.float32)
    network.load_state_dict(loaded.state_dict())
    network.save_pretrained(target)
    tokenizer.save_pretrained(target)
