"""What `--help` prints: a command's groups with their presets, and its fields."""

import sys
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import get_args, get_type_hints

from figlang.config.commands import EvaluateConfig, TrainConfig
from figlang.config.signature import program


def print_help(schema: type, presets: Path) -> None:
    """The groups of a command with what is in the folder `presets`, and every field with its sentence."""
    script = program()
    usage = f"python {script} [GROUP=PRESET …] [FIELD=VALUE …]        {schema.__doc__}"
    lines = [usage, "", "Groups and their presets (the first # line of the file says what each is):"]
    groups = {spec.name for spec in fields(schema)}
    if schema in (TrainConfig, EvaluateConfig):
        groups |= {"debug", "experiment"}
    for folder in sorted(path for path in presets.iterdir() if path.name in groups):
        lines.append(f"  {folder.name}=")
        files = sorted(folder.glob("*.yaml"))
        width = max([20, *(len(file.stem) for file in files)]) + 2
        for file in files:
            comment = next(
                (
                    line[1:].strip()
                    for line in file.read_text().splitlines()
                    if line.startswith("# ") and "@package" not in line
                ),
                "",
            )
            lines.append(f"      {file.stem:<{width}}{comment}")
    lines += ["", "Fields:"]
    lines += _field_lines(schema, "")
    lines += ["", f"Several runs: python {script} -m seed=0,1,2,3,4.  Hydra's own options: --hydra-help."]
    sys.stdout.write("\n".join(lines) + "\n")


def _field_lines(schema: type, prefix: str) -> list[str]:
    lines = []
    hints = get_type_hints(schema)
    for spec in fields(schema):
        kind = next((one for one in get_args(hints[spec.name]) if is_dataclass(one)), hints[spec.name])
        if is_dataclass(kind):
            lines += _field_lines(kind, f"{prefix}{spec.name}.")  # type: ignore[arg-type]
            continue
        choices = " [" + "|".join(spec.metadata["choices"]) + "]" if spec.metadata["choices"] else ""
        given = spec.default if spec.default_factory is MISSING else spec.default_factory()
        default = "" if given == "???" else f" (default {given})"
        lines.append(f"  {prefix + spec.name:<32}{spec.metadata['help']}{choices}{default}")
    return lines
