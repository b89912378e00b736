"""How a tokenizer reads the texts of each language, from the counts in metrics.json, as sentences."""

from collections.abc import Mapping
from typing import Any

COUNTS = "tokens_by_language"  # the part of metrics.json
NO_LETTERS = "no letters"  # the name there of texts in no script, for example numbers
UNFAMILIAR = 0.1  # share of unknown tokens, or of dropped marks, above which choices say little
SPELLED = 0.75  # tokens for a character above which words are read letter by letter
LISTED = 5


def sentences(content: Mapping[str, Any]) -> list[str]:
    """Say which languages a tokenizer reads badly.

    Args:
        content: A metrics.json.

    Returns:
        At most a sentence for each of four reasons: unknown tokens, bytes in place of characters, single
        letters in place of parts of words, and marks that are left out.
    """
    found: Mapping[str, Mapping[str, int]] = content.get(COUNTS, {})
    lines = []
    # With one language, the sentence about all tokens says it.
    if len(found) > 1 and (many := _above(found, "unknown", "tokens", UNFAMILIAR)):
        named = _listed({name: f"{100 * share:.0f} %" for name, share in many.items()})
        lines.append(f"The share of unknown tokens is large in {named}. Choices there say little.")
    # A token for each digit and space is not a byte in place of a letter.
    lettered = {name: each for name, each in found.items() if name != NO_LETTERS}
    in_bytes = _above(lettered, "tokens", "characters", 1)
    if in_bytes:
        named = _listed({name: f"{share:.1f}" for name, share in in_bytes.items()})
        lines.append(
            f"The tokenizer spells {named} in bytes: the numbers are its tokens for a character. The model "
            "was probably not trained on these texts, so choices there say little."
        )
    letters = {name: each for name, each in lettered.items() if _alphabetic(each) and name not in in_bytes}
    if many := _above(letters, "tokens", "characters", SPELLED):
        named = _listed({name: f"{share:.2f}" for name, share in many.items()})
        lines.append(
            f"The tokenizer spells {named} nearly letter by letter: the numbers are its tokens for a "
            "character. The model was probably not trained on these texts, so choices there say little."
        )
    if many := _above(found, "dropped", "characters", UNFAMILIAR):
        named = _listed({name: f"{100 * share:.0f} marks for 100 characters" for name, share in many.items()})
        lines.append(f"The tokenizer drops accents and vowel signs of {named}.")
    return lines


def _alphabetic(each: Mapping[str, int]) -> bool:
    """Whether most characters are letters, and not words or syllables. Older files do not count these."""
    characters = each.get("characters", 0)
    return 2 * each.get("syllabic", characters) < characters


def _above(
    found: Mapping[str, Mapping[str, int]], counted: str, among: str, least: float
) -> dict[str, float]:
    """The languages in which one count is more than `least` times another, the largest ratio first."""
    ratios = {name: each.get(counted, 0) / each[among] for name, each in found.items() if each.get(among)}
    ordered = sorted(ratios.items(), key=lambda named: (-named[1], named[0]))
    return {name: ratio for name, ratio in ordered if ratio > least}


def _listed(numbers: Mapping[str, str]) -> str:
    named = [f"{name} ({number})" for name, number in list(numbers.items())[:LISTED]]
    more = len(numbers) - len(named)
    if more:
        named.append(f"{more} more")
    return " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))
