"""Tiny random encoders with masked-LM heads, tokenizers of three kinds, and the slow way to score that all is
compared with."""

from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    AutoConfig,
    AutoModelForMaskedLM,
    DebertaV2Tokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

from figlang.models.tiny import train_tokenizer
from figlang.scoring.requests import Request

RELATIVE = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False}
FAMILIES: dict[str, dict[str, Any]] = {
    "bert": {},
    "roberta": {"max_position_embeddings": 66},
    "xlm-roberta": {"max_position_embeddings": 66},
    "electra": {"embedding_size": 16},
    "distilbert": {"dim": 32, "hidden_dim": 48, "n_layers": 2, "n_heads": 4},
    "deberta": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "deberta-v2": {
        "relative_attention": True,
        "pos_att_type": ["p2c", "c2p"],
        "position_buckets": 8,
        "position_biased_input": False,
    },
    "modernbert": {"local_attention": 8, "global_attn_every_n_layers": 2},
    "albert": {"embedding_size": 16},
}
WORDS = ["The room was an oven. It was hot! It was cold.", "time crawled"]


def word_pieces() -> PreTrainedTokenizerBase:
    """Whole words where WORDS has them, letters elsewhere; [CLS] and [SEP] around."""
    return train_tokenizer(WORDS, 64)


def bytes_() -> PreTrainedTokenizerBase:
    """RoBERTa's kind: bytes and a few merges, words with the space before them, offsets that leave it out."""
    merges = [("o", "v"), ("Ġ", "h"), ("Ġh", "o"), ("Ġho", "t"), ("w", "a"), ("wa", "s")]
    pieces = {letter: number for number, letter in enumerate(["<s>", "<pad>", "</s>", "<unk>"])}
    for piece in [*sorted(pre_tokenizers.ByteLevel.alphabet()), *("".join(pair) for pair in merges)]:
        pieces[piece] = len(pieces)
    built = Tokenizer(models.BPE(vocab=pieces, merges=merges))
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    built.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True)
    names = {
        "bos_token": "<s>",
        "cls_token": "<s>",
        "eos_token": "</s>",
        "sep_token": "</s>",
        "pad_token": "<pad>",
    }
    return PreTrainedTokenizerFast(tokenizer_object=built, mask_token="<mask>", **names)


def unigrams() -> PreTrainedTokenizerBase:
    """DeBERTa-v3's kind: a word begins with ▁ and takes its punctuation along."""
    pieces = ["▁the", "▁room", "▁", "▁was", "▁it", "hot", "▁The", *"abcdefghijklmnopqrstuvwxyzIT.!,"]
    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    return DebertaV2Tokenizer(
        vocab=[*((name, 0.0) for name in special), *((piece, -float(len(piece))) for piece in pieces)],
        unk_id=3,
    )


TOKENIZERS = {"word pieces": word_pieces, "bytes": bytes_, "unigrams": unigrams}


def network(family: str, tokenizer: PreTrainedTokenizerBase, **settings: Any) -> PreTrainedModel:
    """Random weights large enough that every token moves the output."""
    torch.manual_seed(0)
    sizes = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "max_position_embeddings": 64,
        "pad_token_id": tokenizer.pad_token_id,
        "attn_implementation": "eager",
    }
    built: PreTrainedModel = AutoModelForMaskedLM.from_config(
        AutoConfig.for_model(family, **(sizes | FAMILIES[family] | settings))
    )
    with torch.no_grad():
        for parameter in built.parameters():
            if parameter.dim() == 2:
                parameter.normal_(0, 0.3)
    return built.eval()


@torch.no_grad()
def values(
    network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, request: Request, within_word: bool
) -> list[float]:
    """One mask at a time in one string at a time, by the tokenizer's own call; a space at the boundary is the
    continuation's."""
    text = request.context + request.continuation
    encoding = tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
    found = []
    for place, (token, (_, end), special, word) in enumerate(
        zip(
            encoding.input_ids,
            encoding.offset_mapping,
            encoding.special_tokens_mask,
            encoding.word_ids(),
            strict=True,
        )
    ):
        if special or end <= len(request.context.rstrip(" ")) != 0:
            continue
        ids = list(encoding.input_ids)
        for other in range(place, len(ids)):
            if other == place or (within_word and encoding.word_ids()[other] == word is not None):
                ids[other] = tokenizer.mask_token_id
        logits = network(input_ids=torch.tensor([ids])).logits[0, place].double()
        found.append(float(logits.log_softmax(-1)[token]))
    return found
