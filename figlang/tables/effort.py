"""A sentence about the time and the tokens that scoring took."""

from collections.abc import Mapping
from typing import Any

from figlang.text.amounts import counted


def sentence(took: Mapping[str, Any]) -> str:
    """Say how many tokens were read, how long it took, and how much sharing saved.

    Args:
        took: `Cells.took` of a grid.
    """
    text = f"It took {took['seconds']:.0f} s."
    if took["ratio"] is not None:
        text = (
            f"{took['read']:,} tokens read instead of {took['tokens']:,} one by one ({took['ratio']:.1f} ×) "
            f"in {took['seconds']:.0f} s."
        )
    if kept := took.get("kept"):
        text += f" {', '.join(kept)} had been made by an earlier run, and took more."
    if one_by_one := took.get("one_by_one"):
        text += (
            f" Measured on {counted(one_by_one['questions'], 'question')}: one by one takes "
            f"{one_by_one['ratio']:.1f} × as long."
        )
    return text
