"""The text of `--help`: a command's groups with their presets, and its fields."""

import sys
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

from figlang.config.roots import Root, tables_of
from figlang.config.signature import program

WIDTH = 20  # of the column of presets, unless a name is longer


def print_help(root: Root, presets: Path) -> None:
    """Print the groups of a command with their presets, and every field with its sentence.

    Args:
        root: The options of the command.
        presets: The folder with a folder for each group.
    """
    script = program()
    lines = [
        f"python {script} [GROUP=PRESET …] [FIELD=VALUE …]",
        " ".join((root.schema.__doc__ or "").split()),
        "",
        "Groups and their presets:",
    ]
    groups = {spec.name for spec in fields(root.schema)} | (
        {"debug", "experiment"} if root.repeats else set()
    )
    for folder in sorted(path for path in presets.iterdir() if path.name in groups):
        lines += _group_lines(folder)
    lines += ["", "Fields:", *_field_lines(root.schema, "")]
    if root.repeats:
        several = f"python {script} -m seed=0,1,2,3,4" if not root.together else "data=figqa_medium,miqa"
        lines += ["", f"Several values: {several}.  Hydra's own options: --hydra-help."]
    sys.stdout.write("\n".join(lines) + "\n")


def print_tables(root: Root, presets: Path) -> None:
    """Print what can be reproduced: tables by their own command, other results by presets.

    Args:
        root: The options of the command.
        presets: The folder with a folder for each group.
    """
    script = program()
    lines = [
        f"python {script} table=TABLE [GROUP=PRESET …] [FIELD=VALUE …]",
        " ".join((root.schema.__doc__ or "").split()),
        "",
        "Tables and figures:",
    ]
    tables = tables_of(root)
    for name, table in tables.items():
        lines.append(f"  table={name:<{WIDTH}}{' '.join((table.options.__doc__ or '').split())}")
    lines += ["", "Results that are runs of their own; the command stands at the end of each line:"]
    folder = presets / "experiment"
    lines += [f"  {file.stem:<{WIDTH + 12}}{headline(file)}" for file in sorted(folder.glob("*.yaml"))]
    lines += ["", f"python {script} table={next(iter(tables))} --help lists the options of a table."]
    sys.stdout.write("\n".join(lines) + "\n")


def _group_lines(folder: Path) -> list[str]:
    files = sorted(folder.glob("*.yaml"))
    width = max([WIDTH, *(len(file.stem) for file in files)]) + 2
    return [f"  {folder.name}=", *(f"      {file.stem:<{width}}{headline(file)}" for file in files)]


def headline(preset: Path) -> str:
    """The first comment of a preset, which says what it is."""
    lines = preset.read_text(encoding="utf-8").splitlines()
    return next((line[1:].strip() for line in lines if line.startswith("# ") and "@package" not in line), "")


def _field_lines(schema: type, prefix: str) -> list[str]:
    lines = []
    hints = get_type_hints(schema)
    for spec in fields(schema):
        kind: Any = next(
            (each for each in get_args(hints[spec.name]) if is_dataclass(each)), hints[spec.name]
        )
        if is_dataclass(kind):
            lines += _field_lines(kind, f"{prefix}{spec.name}.")  # type: ignore[arg-type]
            continue
        choices = " [" + "|".join(spec.metadata["choices"]) + "]" if spec.metadata["choices"] else ""
        given = spec.default if spec.default_factory is MISSING else spec.default_factory()
        default = "" if given == "???" else f" (default {given})"
        lines.append(f"  {prefix + spec.name:<32}{spec.metadata['help']}{choices}{default}")
    return lines
