"""Tiny random causal networks of many families, a byte-level tokenizer, and the slow way to score that all is
compared with."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel, PreTrainedTokenizerFast

from figlang.scoring.requests import Request
from figlang.scoring.tree.causal import CausalScorer

MERGES = [
    ("e", "n"),
    ("t", "h"),
    ("th", "e"),
    ("Ġ", "the"),
    ("a", "s"),
    ("Ġ", "s"),
    ("o", "v"),
    ("ov", "en"),
    (".", "Ċ"),
]
SIZES = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 640,
    "pad_token_id": None,
    "bos_token_id": None,
    "eos_token_id": None,
}
NO_BLOCKS = ("gemma2", "falcon", "gpt_neo")  # their attention is their own
KEPT = ("pad_token_id", "bos_token_id", "eos_token_id", "sliding_window")  # None is a value of these
# What a family needs besides SIZES; families of the second table cannot share beginnings.
TREE: dict[str, dict[str, Any]] = {
    "gpt2": {},
    "llama": {},
    "opt": {"ffn_dim": 48, "word_embed_proj_dim": 16},
    "gpt_neox": {},
    "gemma": {},
    "gemma2": {"sliding_window": 1024, "final_logit_softcapping": 3.0},
    "gemma3_text": {"sliding_window": 1024},
    "qwen2": {},
    "qwen3": {},
    "mistral": {"sliding_window": None},
    "phi3": {},
    "falcon": {"alibi": False, "multi_query": False, "head_dim": None, "num_key_value_heads": None},
    "cohere": {"logit_scale": 0.3},
    "granite": {"logits_scaling": 4.0},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]], "num_layers": 2, "window_size": 700},
}
# Those that differ most: learnt, rotated or shifted positions, capped logits, windows, own attention.
APART = ("gpt2", "llama", "opt", "gpt_neox", "gemma2", "falcon", "gpt_neo")
WHOLE: dict[str, dict[str, Any]] = {
    "mistral": {"sliding_window": 12},
    "gemma3_text": {"sliding_window": 12},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]], "num_layers": 2, "window_size": 12},
    "mamba": {"state_size": 8},
    "rwkv": {"attention_hidden_size": 32, "context_length": 640},
    "bloom": {"n_layer": 2, "n_head": 4},
}


def tokenizer() -> PreTrainedTokenizerFast:
    """Bytes, a few pairs that form words (one across a line break), and two special tokens."""
    pieces = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    for one, other in MERGES:
        pieces[one + other] = len(pieces)
    built = Tokenizer(models.BPE(vocab=pieces, merges=MERGES))
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    built.decoder = decoders.ByteLevel()
    built.post_processor = processors.ByteLevel(trim_offsets=True)
    return PreTrainedTokenizerFast(tokenizer_object=built, bos_token="<s>", eos_token="</s>")


def network(family: str, vocabulary: int = 300, seed: int = 0, **settings: Any) -> PreTrainedModel:
    """Random weights large enough that every attended token moves the output."""
    torch.manual_seed(seed)
    sizes = {**SIZES, "vocab_size": vocabulary, **settings}
    config = AutoConfig.for_model(
        family, **{name: size for name, size in sizes.items() if size is not None or name in KEPT}
    )
    built: PreTrainedModel = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in built.parameters():
            if parameter.dim() == 2:
                parameter.normal_(0, 0.3)
    return built


@torch.no_grad()
def values(network: PreTrainedModel, ids: Sequence[int], start: int) -> list[float]:
    """Log-probabilities of the tokens from `start` on, by the network's own logits of this one sentence."""
    # bitsandbytes puts a network on a GPU if there is one.
    rows = torch.tensor([list(ids[:-1])], device=network.device)
    logits = network(input_ids=rows).logits[0].float().log_softmax(-1)
    return [float(logits[place - 1, ids[place]]) for place in range(start, len(ids))]


@torch.no_grad()
def total(network: PreTrainedModel, ids: Sequence[int], start: int) -> float:
    """Minus the network's own loss on the tokens from `start` on, times their number."""
    rows = torch.tensor([list(ids)], device=network.device)
    labels = rows.clone()
    labels[:, :start] = -100
    return -float(network(input_ids=rows, labels=labels).loss) * (len(ids) - start)


def requests() -> list[Request]:
    """Options that share a context, prefixes of each other, equal ones, non-ASCII, empty contexts, one and
    500 tokens."""
    draw = random.Random(0)
    long = "".join(draw.choice("abcdefgh the so") for _ in range(520))
    return [
        Request("The room was", " the oven. It was hot."),
        Request("The room was", " the oven. It was cold."),
        Request("The room was", " the oven."),
        Request("The room was", " the oven."),
        Request("", "The room was the oven. It was hot."),
        Request("", "It was hot."),
        Request("His café in 東京 was ", "🙂 naïve"),
        Request("His café in 東京 was ", "非"),
        Request("The ov", "en was as the so."),
        Request("It is", "x"),
        Request("One line.", "\nThe next"),
        Request("Once ", long),
        Request("Once ", long[:30] + "!"),
    ]


def check(plain: PreTrainedModel, scorer: CausalScorer, asked: list[Request]) -> None:
    """Every value equals the reference on the same tokens, every sum the network's own loss times length."""
    scored = scorer.score(asked)
    sequences, _ = scorer.encoder.encode(asked)
    for tokens, found in zip(sequences, scored.log_probs, strict=True):
        assert found.dtype == torch.float32
        assert found.tolist() == pytest.approx(values(plain, tokens.ids, tokens.start), abs=1e-4)
        # The loss reads the last token too.
        if len(tokens.ids) <= getattr(plain.config, "max_position_embeddings", 640):
            assert float(found.sum()) == pytest.approx(
                total(plain, tokens.ids, tokens.start), abs=1e-4, rel=1e-6
            )
