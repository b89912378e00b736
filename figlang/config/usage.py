"""The first screen of `--help`: usage, examples, the groups with their options, the names of the fields."""

import sys
import textwrap
from dataclasses import fields
from pathlib import Path

from figlang.config.examples import EXAMPLES
from figlang.config.presets import DEFAULTS
from figlang.config.roots import Root, tables_of
from figlang.config.signature import program
from figlang.config.topics import chapters, headline, presets_of, topic
from figlang.errors import FiglangError

LINES, COLUMNS = 40, 80
INDENT = 14  # characters before the names of a group


def print_help(verb: str, root: Root, folder: Path, topics: list[str]) -> None:
    """Print one screen about a verb, or what is asked for.

    Args:
        verb: A verb of `ROOTS`.
        root: Its options.
        folder: The folder with a folder of presets for each group.
        topics: Names of groups or fields; `all` for every one. Empty: the first screen.

    Raises:
        FiglangError: There is no such group or field.
    """
    if not topics:
        text = overview(verb, root, folder)
    elif topics == ["all"]:
        text = "\n\n".join(topic(name, root, folder) for name in chapters(root))
    else:
        text = "\n\n".join(topic(name, root, folder) for name in topics)
    sys.stdout.write(text + "\n")


def overview(verb: str, root: Root, folder: Path) -> str:
    """The first screen: at most 40 lines of at most 80 characters. Long lists of names are cut to fit."""
    for most in range(9, 0, -1):
        lines = _overview(verb, root, folder, most)
        if len(lines) <= LINES:
            return "\n".join(lines)
    raise FiglangError(f"the help of {verb} does not fit into {LINES} lines; shorten it")


def _overview(verb: str, root: Root, folder: Path, most: int) -> list[str]:
    """The first screen, with at most `most` lines for the names of a group."""
    command = program()
    named = [name for name in chapters(root) if name != "fields"]
    runs = "RUN … " if {spec.name for spec in fields(root.schema)} >= {"runs"} else ""
    groups = "[GROUP=OPTION …] " if named else ""
    lines = [f"usage: {command} {runs}{groups}[FIELD=VALUE …]", *textwrap.wrap(root.said, COLUMNS)]
    lines += ["", "Examples:", *(f"  {command} {words}".rstrip() for words in EXAMPLES[verb])]
    if named:
        lines += ["", "Groups, and the options of each:"]
    for name in named:
        options = presets_of(name, folder)
        lines += _names(name, options or ["(only fields)"], most)
    own = [spec.name for spec in fields(root.schema) if spec.name not in named]
    lines += ["", *_names("Fields:", own, most, indent=8)]
    first = next((name for name in ("data", "trainer", *own) if name in (*named, *own)), "all")
    if root.together:
        lines += [f"Several values: data={DEFAULTS.described},{DEFAULTS.asked}"]
    elif root.repeats:
        lines += [f"Several values: {command} -m seed=0,1.  Hydra's options: --hydra-help."]
    lines += [f"More: {command} --help {first} (any group or field), or --help all."]
    return lines


def _names(title: str, names: list[str], most: int, indent: int = INDENT) -> list[str]:
    """Names in lines behind a title. If there are more than `most` lines, the rest are counted."""
    shown = list(names)
    while True:
        rest = len(names) - len(shown)
        text = ", ".join([*shown, *([f"and {rest} more"] if rest else [])])
        first = f"  {title} ".ljust(indent) if indent == INDENT else f"{title} "
        lines = textwrap.wrap(text, COLUMNS, initial_indent=first, subsequent_indent=" " * indent)
        if len(lines) <= most or len(shown) == 1:
            return lines
        shown.pop()


def print_tables(root: Root, folder: Path) -> None:
    """Print what can be reproduced: tables by their own command, other results by presets.

    Args:
        root: The options of the command.
        folder: The folder with a folder of presets for each group.
    """
    command, tables = program(), tables_of(root)
    lines = [
        f"usage: {command} table=TABLE [GROUP=OPTION …] [FIELD=VALUE …]",
        root.said,
        "",
        "Tables and figures:",
    ]
    for name, table in tables.items():
        lines += textwrap.wrap(
            " ".join((table.options.__doc__ or "").split()),
            COLUMNS,
            initial_indent=f"  table={name}".ljust(24),
            subsequent_indent=" " * 24,
        )
    lines += ["", "Results that are runs of their own, by the command that makes them:"]
    for before, names in _by_command(folder).items():
        lines += [f"  {before} experiment=NAME, with one of"]
        lines += textwrap.wrap(", ".join(names), COLUMNS, initial_indent=" " * 6, subsequent_indent=" " * 6)
    lines += [
        "",
        f"{command} --help experiment says what each of them is.",
        f"{command} table={next(iter(tables))} --help lists the options of a table.",
    ]
    sys.stdout.write("\n".join(lines) + "\n")


def _by_command(folder: Path) -> dict[str, list[str]]:
    """The names of experiments by the command that stands in their first comment."""
    found: dict[str, list[str]] = {}
    for file in sorted((folder / "experiment").glob("*.yaml")):
        before = headline(file).rpartition("`figlang ")[2].partition(" experiment=")[0]
        found.setdefault(f"figlang {before}", []).append(file.stem)
    return found
