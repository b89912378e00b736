"""Blocks of code in the README and on the pages of the site."""

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
DOCUMENTS = [ROOT / "README.md", ROOT / "checkpoints" / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]


@cache
def blocks(path: Path, language: str) -> tuple[str, ...]:
    """The blocks of a language in a document."""
    text = path.read_text(encoding="utf-8")
    return tuple(re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE))


def commands(path: Path) -> list[str]:
    """The lines of the shell blocks of a document, without comments."""
    lines = [line.split(" #")[0].strip() for block in blocks(path, "sh") for line in block.splitlines()]
    return [line for line in lines if line]


def every_command() -> list[str]:
    """The commands of all documents, each once."""
    return list(dict.fromkeys(command for path in DOCUMENTS for command in commands(path)))
