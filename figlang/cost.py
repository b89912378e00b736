"""What scoring took, said in a sentence."""

from collections.abc import Mapping
from typing import Any


def sentence(took: Mapping[str, Any]) -> str:
    """Tokens, seconds and the ratio that sharing saved (`Cells.took`)."""
    if took["ratio"] is None:
        return f"It took {took['seconds']:.0f} s."
    text = (
        f"{took['read']:,} tokens read instead of {took['tokens']:,} one by one ({took['ratio']:.1f} ×) in {took['seconds']:.0f} s."
    )
    if found := took.get("one_by_one"):
        text += f" Measured on {found['questions']} questions: one by one takes {found['ratio']:.1f} × as long."
    return text
