"""Adapters that begin with what the layers read, or with what rounding took from their weights.

EVA (Paischer et al. 2024, arXiv 2410.07170) takes the directions in which the inputs of a layer vary most. It
gives more rank to layers where many directions matter. CorDA (Yang et al. 2024, arXiv 2406.05223) takes the
part of the weights that matters most for these inputs. Both read texts of the training, by peft's functions.
LoftQ is figlang/models/rounded.py.

Shape letters: N rows, T tokens, I inputs.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from peft import LoraConfig, PeftModel
from peft.tuners.lora import LoraLayer
from peft.tuners.lora.config import CordaConfig, EvaConfig
from peft.tuners.lora.corda import preprocess_corda
from peft.tuners.lora.eva import initialize_lora_eva_weights
from peft.utils.other import get_pattern_key
from torch import Tensor, nn
from transformers import PreTrainedModel

from figlang.errors import FiglangError
from figlang.models import rounded

# Ways to begin that read texts.
READING = ("eva", "corda")
# Ways to begin that take as many directions of a layer as the rank.
DIRECTED = (*READING, "pissa", "olora", "loftq")
# The values of `peft.init` that peft does not know, or that need more settings (see `settled`).
PEFTS: dict[str, Any] = dict.fromkeys(("default", "loftq", *READING), True)
MOST = 256  # texts; peft's advice for CorDA
AT_ONCE = 16  # texts of a batch of EVA, or more if they are too short
BATCHES = 400  # EVA usually needs some ten
REDISTRIBUTED = 2.0  # EVA: the largest rank of a layer, as a multiple of peft.r; peft's default

Row = Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Given:
    """Data that a way to begin may need. Each part is computed when it is asked for.

    Attributes:
        rows: Texts of the training, from `drawn`.
        exact: The network before its weights were rounded; None if they are not in 4 bits.
    """

    rows: Callable[[], list[Row]] = list
    exact: Callable[[], PreTrainedModel] | None = None


def drawn(examples: Sequence[Any], seed: int) -> list[Row]:
    """Texts of encoded items, as arguments of the network: MOST different ones at most, drawn with a seed.

    Args:
        examples: Items in tokens, of an encoder (with `sequences` of token ids, and perhaps `segments`) or of
            a causal network (with one row of `tokens` for each text).
        seed: Seed of the draw.
    """
    found: dict[tuple[tuple[int, ...], bytes], None] = {}
    for example in examples:
        segments = getattr(example, "segments", None) or [b""] * len(example.sequences)
        for sequence, types in zip(example.sequences, segments, strict=True):
            ids = sequence.tokens.tolist() if hasattr(sequence, "tokens") else sequence
            found[tuple(ids), types] = None
    rows = sorted(found)
    chosen = random.Random(seed).sample(rows, min(MOST, len(rows)))
    return [{"input_ids": ids} | ({"token_type_ids": tuple(types)} if types else {}) for ids, types in chosen]


def _read_by(network: PreTrainedModel, names: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """The layers of `names` that read the tokens of a text. A pooler, for example, reads one vector of it."""
    modules = dict(network.named_modules())
    reads: set[str] = set()

    def noted(name: str) -> Callable[..., None]:
        def hook(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            if inputs[0].ndim == 3 and inputs[0].shape[1] == len(rows[0]["input_ids"]):
                reads.add(name)

        return hook

    handles = [modules[name].register_forward_pre_hook(noted(name)) for name in names]
    _read(network, _batch(rows[:1]))
    for handle in handles:
        handle.remove()
    return [name for name in names if name in reads]


def settled(
    network: PreTrainedModel, settings: LoraConfig, init: str, names: Sequence[str], given: Given
) -> None:
    """Complete the settings of adapters for a way to begin, before they are laid over the network.

    Args:
        network: The network.
        settings: Settings of the adapters. They are changed.
        init: `peft.init`.
        names: The layers that get adapters. Those that read no tokens get none if the beginning needs texts.
        given: What the beginning needs.

    Raises:
        FiglangError: If the rank is too large for the layers.
    """
    if init not in DIRECTED or not names:
        return
    rows = given.rows() if init in READING else []
    if init in READING:
        settings.target_modules = names = _read_by(network, names, rows)
    above = [name for name in names if _rank(settings, name) > _directions(network, name)]
    if above:
        least = min(_directions(network, name) for name in above)
        most = max(_rank(settings, name) for name in above)
        raise FiglangError(
            f"peft.init={init} begins with directions of a layer, of which one has {least}; take "
            f"peft.r={least} or less in place of {most}"
        )
    if init == "corda":
        _corda(network, settings, rows)


def _directions(network: PreTrainedModel, name: str) -> int:
    """The number of directions of a layer: its inputs or its outputs, whichever are fewer."""
    layer: Any = network.get_submodule(name)
    # Weights in 4 bits lie in another shape.
    linear = isinstance(layer, nn.Linear)
    sizes: tuple[int, ...] = (layer.in_features, layer.out_features) if linear else layer.weight.shape
    return min(sizes)


def begun(adapted: PeftModel, init: str, given: Given) -> None:
    """Begin new adapters as `peft.init` says, if peft has not done it while it laid them over the network.

    Raises:
        FiglangError: If they cannot begin so.
    """
    if init == "eva":
        eva(adapted, given.rows())
    if init == "loftq" and given.exact is not None:
        rounded.begin(adapted, given.exact())
    settings = adapted.active_peft_config
    if init in READING:  # what plain peft needs to read them
        settings.init_lora_weights, settings.eva_config, settings.corda_config = True, None, None


def _corda(network: PreTrainedModel, settings: LoraConfig, rows: Sequence[Row]) -> None:
    """Prepare a network for adapters that begin by CorDA: peft then takes them out of its weights."""
    settings.init_lora_weights, settings.corda_config = "corda", CordaConfig()

    def read() -> None:
        for row in rows:  # peft's function takes one text at a time
            _read(network, _batch([row]))

    preprocess_corda(network, settings, run_model=read)


def eva(adapted: PeftModel, rows: Sequence[Row]) -> None:
    """Begin the adapters of a network by EVA.

    Args:
        adapted: The network with new adapters.
        rows: Texts, from `drawn`.

    Raises:
        FiglangError: If there are too few texts for the rank, or if the directions do not settle.
    """
    settings = adapted.active_peft_config
    layers = {name: layer for name, layer in adapted.named_modules() if isinstance(layer, LoraLayer)}
    ranks = [_rank(settings, name) for name in layers]
    narrowest = min(layer.in_features for layer in layers.values())
    share = max(1.0, min(REDISTRIBUTED, narrowest / max(ranks)))
    tokens = sum(len(row["input_ids"]) for row in rows)
    needed = round(max(ranks) * share)
    if needed > tokens:
        raise FiglangError(
            f"peft.init=eva finds {needed} directions for peft.r={max(ranks)}, but the texts have only "
            f"{tokens} tokens; take a lower rank, or more items"
        )
    settings.init_lora_weights, settings.eva_config = "eva", EvaConfig(rho=share)
    left = iter(range(BATCHES))

    def forward(_: nn.Module, inputs: dict[str, Tensor]) -> None:
        if next(left, None) is None:
            raise FiglangError("peft.init=eva: the directions do not settle on these texts; leave it out")
        _read(adapted.get_base_model(), inputs)

    initialize_lora_eva_weights(
        adapted,
        list(_batches(rows, needed)),
        forward_fn=forward,
        prepare_model_inputs_fn=lambda inputs, _: inputs["attention_mask"].bool(),
        prepare_layer_inputs_fn=_without_padding,
        gather_distributed_inputs=False,  # every process reads the same texts
        show_progress_bar=False,
    )


def _without_padding(inputs: tuple[Tensor, ...], mask_NT: Tensor, _: str) -> Tensor:
    """What a layer reads, without padding. DeBERTa's layers also read distances, which have none."""
    read_NTI = inputs[0]
    return read_NTI[mask_NT] if read_NTI.shape[:2] == mask_NT.shape else read_NTI.flatten(0, -2)


def _rank(settings: LoraConfig, name: str) -> int:
    patterns = settings.rank_pattern
    return int(patterns.get(get_pattern_key(patterns.keys(), name), settings.r))


def _batches(rows: Sequence[Row], least: int) -> Iterator[dict[str, Tensor]]:
    """Batches of AT_ONCE rows, or of more if they have fewer than `least` tokens. The last may be larger."""
    waiting: list[Row] = []
    left = sum(len(row["input_ids"]) for row in rows)
    for row in rows:
        waiting.append(row)
        left -= len(row["input_ids"])
        if len(waiting) >= AT_ONCE and left >= least <= sum(len(each["input_ids"]) for each in waiting):
            yield _batch(waiting)
            waiting = []
    if waiting:
        yield _batch(waiting)


def _batch(rows: Sequence[Row]) -> dict[str, Tensor]:
    """Rows as tensors (N, T), padded with zeros that the mask leaves out."""
    width = max(len(row["input_ids"]) for row in rows)
    padded = {
        name: torch.tensor([[*row[name], *[0] * (width - len(row[name]))] for row in rows])
        for name in rows[0]
    }
    lengths = torch.tensor([len(row["input_ids"]) for row in rows])
    return padded | {"attention_mask": (torch.arange(width) < lengths[:, None]).long()}


@torch.no_grad()
def _read(network: PreTrainedModel, inputs: Mapping[str, Tensor]) -> None:
    """Read texts up to the heads of an encoder, or with the vocabulary of a causal network."""
    causal = network.get_output_embeddings() is not None
    read = network if causal else network.base_model
    device = next(network.parameters()).device
    network.eval()
    read(**{name: tensor.to(device) for name, tensor in inputs.items()})
