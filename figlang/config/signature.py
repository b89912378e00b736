"""Signatures: one line beside each number, with all settings that it depends on."""

import hashlib
import json
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

from figlang.config.purposes import verb

LIBRARIES = ("figlang", "torch", "transformers", "pytorch-lightning", "peft", "tokenizers", "numpy", "scipy")


def versions() -> dict[str, str]:
    """Versions of the libraries that compute."""
    return {"python": python_version(), **{name: version(name) for name in LIBRARIES}}


def signature(facts: Mapping[str, Any]) -> str:
    """`key:value|key:value|…` in the given order, versions of torch, transformers and figlang at its end."""
    tail = {name: version(name) for name in ("torch", "transformers", "figlang")}
    return "|".join(f"{name}:{value}" for name, value in {**facts, **tail}.items())


def program() -> str:
    """The running command, as it is typed: for example `python evaluate.py`, or `figlang transfer`."""
    path = Path(sys.argv[0])
    return f"figlang {verb(path.stem)}" if path.parent.name == "commands" else f"python {path.name}"


def digest(plain: Any) -> str:
    """Twelve hex digits that identify plain data (for example the settings of a recipe)."""
    return hashlib.sha256(json.dumps(plain, sort_keys=True, default=str).encode()).hexdigest()[:12]
