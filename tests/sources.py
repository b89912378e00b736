"""The package's files and their syntax trees, which tests of every file read once."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent


def files(*places: str) -> list[str]:
    """The Python files at and below some places, by their names from the root."""
    found = [ROOT / place for place in places]
    every = [file for path in found for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))]
    return [str(file.relative_to(ROOT)) for file in every]


PACKAGE = files("figlang")
ENTRIES = ["train.py", "evaluate.py"]


@cache
def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@cache
def nodes_of(name: str) -> tuple[ast.AST, ...]:
    """The syntax tree of a file: first its module, then all that is in it."""
    return tuple(ast.walk(ast.parse(text_of(name))))
