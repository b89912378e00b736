"""Tiny random networks of any architecture (`model.init=tiny`), for `debug=fast` and the tests."""

import re
from collections import Counter
from collections.abc import Sequence
from string import ascii_lowercase
from typing import Any

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

from figlang.config import ModelConfig
from figlang.errors import FiglangError, one_line
from figlang.models import opening

WINDOW = 2048  # tokens


def build(
    model: ModelConfig, kind: Any, texts: Sequence[str], options: int
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Build a random network of two layers, and train a tokenizer.

    Args:
        model: Settings of the model.
        kind: Auto class of transformers.
        texts: Texts for the tokenizer.
        options: Number of options of an item.

    Raises:
        FiglangError: If the architecture cannot be built.
    """
    tokenizer = train_tokenizer(texts, model.max_length)
    sizes: dict[str, Any] = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "max_position_embeddings": model.max_length + 16,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.cls_token_id,
        "eos_token_id": tokenizer.sep_token_id,
        "cls_token_id": tokenizer.cls_token_id,
        "sep_token_id": tokenizer.sep_token_id,
        "decoder_start_token_id": tokenizer.cls_token_id,
        "num_labels": options,
    }
    if kind is AutoModelForCausalLM:
        sizes["num_key_value_heads"] = sizes["num_attention_heads"]
        # prompts with examples are longer than the texts of encoders
        sizes["max_position_embeddings"] = WINDOW
    if model.architecture == "gpt_neo":  # one entry per layer, twelve by default
        sizes["attention_types"] = [[["global", "local"], 1]]
    if model.architecture == "funnel":  # layers are counted in blocks
        del sizes["num_hidden_layers"]
        sizes |= {
            "block_sizes": [1, 1],
            "num_decoder_layers": 1,
            "d_model": 32,
            "n_head": 2,
            "d_head": 16,
            "d_inner": 64,
        }
    if model.architecture == "xlnet":
        del sizes["max_position_embeddings"]
        sizes["d_head"] = 16
    try:
        config = AutoConfig.for_model(model.architecture, **sizes)
        return opening.build(kind, config), tokenizer
    except Exception as error:  # configurations raise all kinds of errors for these sizes
        raise FiglangError(
            f"cannot build a tiny network of model.architecture={model.architecture}: {one_line(error)}"
        ) from error


def train_tokenizer(texts: Sequence[str], max_length: int) -> PreTrainedTokenizerFast:
    """Train a word-piece tokenizer on the 2,000 most frequent words of `texts`.

    It splits other words into letters. The vocabulary is counted here, because a run must be repeatable: the
    trainer of `tokenizers` breaks ties differently in every process.
    """
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = Counter(re.findall(r"\w+|[^\w\s]", " ".join(texts).lower()))
    frequent = sorted(words, key=lambda word: (-words[word], word))[:2000]
    letters = sorted({letter for word in words for letter in word})
    # Answers that are letters need their own tokens, whatever the texts are.
    pieces = dict.fromkeys(
        [*special, *frequent, *letters, *(f"##{letter}" for letter in letters), *ascii_lowercase]
    )
    tokenizer = Tokenizer(
        models.WordPiece({piece: number for number, piece in enumerate(pieces)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = {
        "bos_token": "[CLS]",
        "eos_token": "[SEP]",
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=max_length, **names)
