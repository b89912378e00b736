"""Sentence vectors of a teacher, which are kept for the next training on the same texts.

Five seeds of a student have the same teacher and the same texts, and a teacher that is larger than its
student takes a good part of the time of one training.

Shape letters: U texts, H hidden.
"""

import logging
from collections.abc import Sequence
from math import sqrt
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from figlang.config import TrainConfig
from figlang.config.signature import digest
from figlang.cpu.hasten import hastened
from figlang.evaluation import choosing
from figlang.evaluation.how import How
from figlang.files.whole import whole_file
from figlang.machine import bars
from figlang.machine.shrinking import Shrinking
from figlang.models.checkpoint import Loaded
from figlang.scoring.head import Dual
from figlang.training.throughput import DTYPES

log = logging.getLogger("figlang")
AT_ONCE = 256  # texts that a teacher reads together


def of(config: TrainConfig, loaded: Loaded, identity: str, texts: Sequence[tuple[str, bool]]) -> Tensor:
    """The vectors of texts, each multiplied by the square root of the teacher's scale.

    Args:
        config: The options of the training: its precision, and where vectors are kept.
        loaded: The teacher, a dual encoder.
        identity: What identifies its weights.
        texts: The texts, each with whether its item is cut.

    Returns:
        Vectors (U, H) in float16.
    """
    device, precision = next(loaded.network.parameters()).device, config.trainer.precision
    read = [loaded.manifest.text, loaded.manifest.max_length, loaded.manifest.described]
    known = digest([identity, texts, precision, device.type, torch.__version__, read])
    path = Path(config.paths.cache).expanduser() / "teachers" / f"{known}.safetensors"
    try:
        kept_UH = load_file(path).get("vectors")
    except (OSError, SafetensorError):
        kept_UH = None  # there is none, or a damaged one
    if kept_UH is not None and len(kept_UH) == len(texts):
        return kept_UH
    vectors_UH = _read(config, loaded, texts)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as beside:
            save_file({"vectors": vectors_UH}, beside)
    except (OSError, SafetensorError) as error:
        log.warning("%s: the teacher's vectors are not kept (%s)", path.parent, error)
    return vectors_UH


@torch.inference_mode()
def _read(config: TrainConfig, loaded: Loaded, texts: Sequence[tuple[str, bool]]) -> Tensor:
    network, manifest = loaded.network, loaded.manifest
    encoder = choosing.encoder(loaded, How())
    dual = Dual(manifest.scale, manifest.sentence_vectors)
    order = sorted(encoder.encode_alone(texts), key=lambda example: example.longest)
    device = next(network.parameters()).device
    dtype = DTYPES.get(config.trainer.precision, torch.float32)
    rows: dict[int, Tensor] = {}
    sizes = Shrinking(AT_ONCE, 1, "texts are read")

    def read(size: int) -> dict[int, Tensor]:
        batch = choosing.moved(encoder.collate(order[len(rows) : len(rows) + size]), device)
        assert batch.context_rows is not None, "the teacher is a dual encoder"
        found = sqrt(dual.scale) * dual.vectors(network, batch)[batch.context_rows].float()
        return dict(zip(batch.positions, found.half().cpu(), strict=True))

    half = torch.autocast(device.type, dtype, enabled=dtype != torch.float32)
    with hastened(network), half, bars.progress(config.trainer.progress) as bar:
        task = bar.add_task("reading with the teacher", total=len(order))
        while len(rows) < len(order):
            found = sizes(read)
            rows |= found
            bar.advance(task, len(found))
    return torch.stack([rows[place] for place in range(len(texts))])
