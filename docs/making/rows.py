"""Rows as Markdown: every made table of the site and of the README goes through here."""

import re
import tomllib
from collections.abc import Sequence
from html import escape
from pathlib import Path

from figlang.tables import markdown_code, markdown_text

ROOT = Path(__file__).parents[2]
URLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"].get("urls", {})
REPOSITORY: str | None = URLS.get("Repository")
"""The address of the public repository; None as long as pyproject.toml has none."""


def percent(share: float) -> str:
    """A share as per cent with one digit, with a true minus."""
    return signed(f"{100 * share:.1f}")


def signed(number: str) -> str:
    """A number as a reader sees it: with a true minus."""
    return f"−{number[1:]}" if number.startswith("-") else number


def interval(value: str, low: str, high: str) -> str:
    """A value with its interval; the value alone without one."""
    return f"{signed(value)} ({signed(low)} – {signed(high)})" if low and high else signed(value)


def text(plain: str) -> str:
    """A text of a table in Markdown: what stands between two backticks is code, all else is plain text."""
    parts = re.split(r"`([^`]+)`", plain)
    return "".join(_code(part) if place % 2 else markdown_text(part) for place, part in enumerate(parts))


def _code(plain: str) -> str:
    # Renderers do not agree on a bar within a span of code in a table.
    return f"<code>{escape(plain).replace('|', '&#124;')}</code>" if "|" in plain else markdown_code(plain)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> str:
    """A Markdown table.

    Args:
        columns: The headings.
        rows: The cells, already Markdown.
        texts: How many columns at the left are text; the rest is aligned to the right.

    Returns:
        The lines of the table. A column in which every cell is empty is left out.
    """
    kept = [place for place in range(len(columns)) if place == 0 or any(row[place] for row in rows)]
    rule = ["---" if place < texts else "---:" for place in kept]
    lines = [[text(columns[place]) for place in kept], rule]
    lines += [[row[place] for place in kept] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def in_repository(text: str, place: str) -> str:
    """A text that leads to a file of the repository; the text alone if the repository has no address."""
    return f"[{text}]({REPOSITORY}/blob/HEAD/{place})" if REPOSITORY else text
