"""The tokens of a text with a blank for a causal network: up to the blank, or, for those trained to, both
sides of it."""

from collections.abc import Sequence

from transformers import PreTrainedTokenizerBase

from figlang.errors import FiglangError
from figlang.scoring.requests import SpanFinder, bos_ids
from figlang.types import Blank

# Special tokens before the text before the blank, the text after it, and what is to be inserted (Bavarian et
# al. 2022, arXiv 2207.14255), as StarCoder, Qwen and CodeGemma, SantaCoder, Code Llama and DeepSeek-Coder
# call them.
MARKERS = (
    ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
    ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    ("<fim-prefix>", "<fim-suffix>", "<fim-middle>"),
    ("▁<PRE>", "▁<SUF>", "▁<MID>"),
    ("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),
)


def markers(tokenizer: PreTrainedTokenizerBase) -> tuple[int, int, int] | None:
    """The ids of the tokenizer's own fill-in-the-middle tokens, or None."""
    known = tokenizer.get_vocab()
    found = next((names for names in MARKERS if all(name in known for name in names)), None)
    return None if found is None else (known[found[0]], known[found[1]], known[found[2]])


def encode(
    tokenizer: PreTrainedTokenizerBase, blanks: Sequence[Blank], bos: str | int = "none"
) -> list[list[int]]:
    """For every blank the token ids after which its answer begins; no special token but bos and the markers
    is added.

    Raises FiglangError for text after a blank if the tokenizer has no fill-in-the-middle tokens.
    """
    spans, first = SpanFinder(tokenizer), bos_ids(tokenizer, bos)
    before, after = (spans.ids([getattr(blank, side) for blank in blanks]) for side in ("before", "after"))
    if not any(after):
        return [[*first, *ids] for ids in before]
    found = markers(tokenizer)
    if found is None:
        raise FiglangError(
            "form=insert puts the answer between two texts, and this tokenizer has no fill-in-the-middle "
            "tokens; use form=quote, "
            "or a model that was trained to fill in"
        )
    prefix, suffix, middle = found
    return [[*first, prefix, *one, suffix, *other, middle] for one, other in zip(before, after, strict=True)]
