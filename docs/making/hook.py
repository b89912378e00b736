"""What mkdocs calls: lines such as `{{ measured figqa_dev }}` become tables, `$$ … $$` becomes MathML."""

import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert

sys.path[:0] = [place for place in [str(Path(__file__).parents[2])] if place not in sys.path]

from docs.making import difficulty, measured, options, published, released  # noqa: E402
from docs.making.rows import REPOSITORY, ROOT, in_repository  # noqa: E402

MADE: dict[str, Callable[..., str]] = {
    "measured": measured.measured,
    "published": published.published,
    "released": released.released,
    "across": released.across,
    "gains": released.gains,
    "headline": released.headline,
    "verbs": options.verbs,
    "groups": options.groups,
    "difficulty": difficulty.difficulty,
    "file": lambda name: shown(name),
}
# The search shows first what says how to do something, then references, then results and reasons.
BOOSTS = {"start": 3, "guides": 3, "results": 0.5, "design": 0.5}
LINE = re.compile(r"^\{\{ (.+) \}\}$", flags=re.MULTILINE)
INLINE = re.compile(r"\\\((.+?)\\\)")
FORMULA = re.compile(r"^\$\$(.+?)\$\$$", flags=re.MULTILINE | re.DOTALL)


def shown(name: str) -> str:
    """A Markdown file of the repository without its title. Links to other files lead into the repository."""
    text = re.sub(r"\A# .*\n", "", (ROOT / name).read_text(encoding="utf-8"))
    link = r"\[([^\]]+)\]\((?!https?:|#)([^)]+)\)"
    return re.sub(link, lambda found: in_repository(found[1], found[2]), text)


def made(text: str) -> str:
    """A page with its tables and formulas.

    Args:
        text: The Markdown of a page.

    Returns:
        The Markdown with every `{{ … }}` on a line of its own replaced.
    """

    def line(found: re.Match[str]) -> str:
        name, *words = shlex.split(found[1])
        return MADE[name](*words)

    def formula(found: re.Match[str]) -> str:
        return f'<div class="formula">{convert(found[1].strip(), display="block")}</div>'

    text = FORMULA.sub(formula, LINE.sub(line, text))
    return INLINE.sub(lambda found: convert(found[1]), text)


def on_config(config: Any, **_: Any) -> None:
    """Called by mkdocs once: the site leads to the repository if it has an address."""
    config.repo_url = REPOSITORY


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by mkdocs for every page."""
    folder = page.file.src_uri.partition("/")[0]
    page.meta.setdefault("search", {"boost": BOOSTS.get(folder, 1)})
    return made(markdown)
