"""Identify a network (weights, configuration and tokenizer) by twelve hexadecimal digits."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

SAMPLED = 4096  # number of elements of a tensor that are read one by one
CHUNK = 2**22
WHOLE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
# Entries of a configuration about where it comes from and how it is run. They change no score.
SILENT = (
    "_name_or_path",
    "name_or_path",
    "transformers_version",
    "architectures",
    "dtype",
    "torch_dtype",
    "_attn_implementation",
)


def fingerprint(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> str:
    """The fingerprint of a network. Equal networks have equal ones, whatever file they come from.

    Other networks have other fingerprints, except by an unlikely accident. For each tensor it covers name,
    shape, number format, SAMPLED elements at equal distances, and the sum of all elements, read as whole
    numbers. So it does not depend on threads or devices. Tensors on disk (`model.device_map`) count by name
    and shape only.
    """
    digest = hashlib.sha256()
    for name, tensor in sorted(network.state_dict().items()):
        if isinstance(tensor, Tensor):
            digest.update(f"{name}|{tuple(tensor.shape)}|{tensor.dtype}|".encode())
            if tensor.device.type != "meta" and tensor.numel():
                digest.update(_content(tensor.detach()))
    config = {name: value for name, value in network.config.to_dict().items() if name not in SILENT}
    digest.update(json.dumps(_plain(config), sort_keys=True, default=str).encode())
    # these tokens begin and end replies
    if (written := getattr(network, "generation_config", None)) is not None:
        digest.update(f"{written.bos_token_id}|{written.eos_token_id}|".encode())
    for part in _tokens(tokenizer):
        digest.update(part.encode(errors="surrogatepass"))
    return digest.hexdigest()[:12]


def _content(tensor: Tensor) -> bytes:
    flat = tensor.reshape(-1)
    whole = flat.view(WHOLE[flat.element_size()]) if flat.element_size() in WHOLE else flat.view(torch.uint8)
    # In pieces, because a sum in 64 bits makes a copy of all that it adds up.
    total = sum(
        int(whole[start : start + CHUNK].sum(dtype=torch.int64)) for start in range(0, len(whole), CHUNK)
    )
    sample = whole[:: max(1, len(whole) // SAMPLED)].to("cpu", torch.int64).contiguous()
    return f"{total}|".encode() + sample.numpy().tobytes()


def _tokens(tokenizer: PreTrainedTokenizerBase) -> list[str]:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        known = json.dumps(tokenizer.get_vocab(), sort_keys=True)
    else:
        # Its settings for truncation and padding come first. Every call sets them again.
        known = backend.to_str()
        known = known[max(known.find('"added_tokens"'), 0) :]
    own = {
        name: getattr(tokenizer, name, None)
        for name in ("truncation_side", "model_input_names", "split_special_tokens")
    }
    special = json.dumps(_plain(tokenizer.special_tokens_map | own), default=str)
    return [known, special, str(getattr(tokenizer, "chat_template", None))]


def _plain(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {str(key): _plain(value) for key, value in content.items()}
    return [_plain(value) for value in content] if isinstance(content, list | tuple) else content
