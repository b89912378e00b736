"""What scoring took, said in a sentence."""

from collections.abc import Mapping
from typing import Any


def sentence(took: Mapping[str, Any]) -> str:
    """Tokens, seconds and the ratio that sharing saved (`Cells.took`)."""
    text = f"It took {took['seconds']:.0f} s."
    if took["ratio"] is not None:
        text = (
            f"{took['read']:,} tokens read instead of {took['tokens']:,} one by one ({took['ratio']:.1f} ×) "
            "in "
            f"{took['seconds']:.0f} s."
        )
    if kept := took.get("kept"):
        text += f" {', '.join(kept)} had been made by an earlier run, and took more."
    if found := took.get("one_by_one"):
        text += (
            f" Measured on {found['questions']} questions: one by one takes {found['ratio']:.1f} × as long."
        )
    return text
