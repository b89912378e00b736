"""Answers in free text that are empty: a number of a sheet that has many says little about the model."""

import logging
from collections.abc import Sequence

from figlang.config import SamplingConfig
from figlang.types import Generation, Reply

log = logging.getLogger("figlang")


def warn(written: Sequence[Generation], replies: Sequence[Reply], sampling: SamplingConfig) -> None:
    """Say how many answers have no text to rate and, of replies, why.

    Args:
        written: The answers.
        replies: The replies that they were taken from, in the same order; empty for continued texts.
        sampling: How they were drawn.
    """
    empty = [place for place, one in enumerate(written) if not one.answer]
    if not empty:
        return
    found = [replies[place] for place in empty] if replies else []
    why = (
        f" ({sum(reply.refused for reply in found)} of them refused by a content filter, "
        f"{sum(reply.cut for reply in found)} cut at sampling.max_tokens={sampling.max_tokens})"
    )
    log.warning(
        "%d of %d answers are empty%s; the sheet has them, and they are rated as they are",
        *(len(empty), len(written), why if found else ""),
    )
