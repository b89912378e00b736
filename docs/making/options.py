"""Options and presets as the schema and `conf/` have them."""

from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_args, get_type_hints

from docs.making.rows import ROOT, table, text
from figlang.config.purposes import PURPOSES
from figlang.config.roots import ROOTS, tables_of
from figlang.config.topics import headline
from figlang.tables import markdown_code

CONF = ROOT / "conf"


def options(verb: str) -> str:
    """The options of a verb, in a table for each of its groups.

    Args:
        verb: A verb of `figlang`.

    Returns:
        Markdown.
    """
    root = ROOTS[verb]
    parts = [root.said, *_sections(root.schema)]
    if root.tables is not None:
        for name, found in tables_of(root).items():
            parts += [f"#### `table={name}`", " ".join((found.options.__doc__ or "").split())]
            own = {spec.name for spec in fields(root.schema)}
            lines = [_line(found.options, spec, "") for spec in fields(found.options) if spec.name not in own]
            parts.append(
                table(["option", "what it does", "values", "default"], [line for line in lines if line], 3)
            )
    return "\n\n".join(parts)


def verbs() -> str:
    """Every verb with its options, by purpose."""
    parts = []
    for purpose, names in PURPOSES.items():
        parts.append(f"## {purpose}")
        parts += [f"### `figlang {name}`\n\n{options(name)}" for name in names]
    return "\n\n".join(parts)


def groups() -> str:
    """The groups and their presets, each with the first comment of its file."""
    parts = []
    for folder in sorted(path for path in CONF.iterdir() if path.is_dir()):
        files = sorted(folder.glob("*.yaml"))
        if files:
            rows = [[f"`{folder.name}={file.stem}`", text(headline(file))] for file in files]
            parts += [f"### `{folder.name}=`", table(["preset", "what it is"], rows, 2)]
    return "\n\n".join(parts)


def _sections(schema: type) -> list[str]:
    hints = get_type_hints(schema)
    top: list[list[str]] = []
    parts: list[str] = []
    for spec in fields(schema):
        kind = _section(hints[spec.name])
        if kind is None:
            top.append(_line(schema, spec, ""))
            continue
        lines = [_line(kind, each, f"{spec.name}.") for each in fields(kind)]
        parts += [f"**`{spec.name}.`**", table(["option", "what it does", "values", "default"], lines, 3)]
    shown = [line for line in top if line]
    return [*([table(["option", "what it does", "values", "default"], shown, 3)] if shown else []), *parts]


def _section(hint: Any) -> Any:
    kinds = [hint, *get_args(hint)]
    return next((kind for kind in kinds if isinstance(kind, type) and is_dataclass(kind)), None)


def _line(schema: type, spec: Any, prefix: str) -> list[str]:
    if "help" not in spec.metadata:
        return []
    choices, within = spec.metadata.get("choices") or (), spec.metadata.get("within")
    values = ", ".join(map(markdown_code, choices))
    if within is not None:
        values = within.words()
    given = spec.default if spec.default_factory is MISSING else spec.default_factory()
    default = (
        "required"
        if given == "???"
        else ""
        if given is None or given == []
        else markdown_code(_written(given))
    )
    name = markdown_code(f"{prefix}{spec.name}")
    return [name, text(spec.metadata["help"]), values, default.replace("|", "\\|")]


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
