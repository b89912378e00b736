"""The tokens of a text with a blank, for a causal network.

They are the text up to the blank or, for a network that was trained to fill in, both sides of it.
"""

from collections.abc import Sequence

from transformers import PreTrainedTokenizerBase

from figlang.errors import FiglangError
from figlang.scoring.requests import SpanFinder, bos_ids
from figlang.types import Blank

# Special tokens before the text before the blank, before the text after it, and before the insertion
# (Bavarian et al. 2022, arXiv 2207.14255). The names are those of StarCoder; Qwen and CodeGemma; SantaCoder;
# Code Llama; and DeepSeek-Coder.
MARKERS = (
    ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
    ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    ("<fim-prefix>", "<fim-suffix>", "<fim-middle>"),
    ("▁<PRE>", "▁<SUF>", "▁<MID>"),
    ("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),
)


def markers(tokenizer: PreTrainedTokenizerBase) -> tuple[int, int, int] | None:
    """The ids of the tokenizer's own fill-in-the-middle tokens; None if it has none."""
    known = tokenizer.get_vocab()
    present = next((names for names in MARKERS if all(name in known for name in names)), None)
    return None if present is None else (known[present[0]], known[present[1]], known[present[2]])


def encode(
    tokenizer: PreTrainedTokenizerBase, blanks: Sequence[Blank], bos: str | int = "none"
) -> list[list[int]]:
    """For every blank, the token ids after which its answer begins.

    Only bos and the markers are added as special tokens.

    Raises:
        FiglangError: If there is text after a blank, and the tokenizer has no fill-in-the-middle tokens.
    """
    spans, first = SpanFinder(tokenizer), bos_ids(tokenizer, bos)
    before = list(spans.ids(blank.before for blank in blanks))
    after = list(spans.ids(blank.after for blank in blanks))
    if not any(after):
        return [[*first, *ids] for ids in before]
    ids_of_markers = markers(tokenizer)
    if ids_of_markers is None:
        raise FiglangError(
            "form=insert puts the answer between two texts, but this tokenizer has no "
            "fill-in-the-middle tokens; use form=quote, or a model that was trained to fill in"
        )
    prefix, suffix, middle = ids_of_markers
    return [
        [*first, prefix, *ids, suffix, *ids_after, middle]
        for ids, ids_after in zip(before, after, strict=True)
    ]
