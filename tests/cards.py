"""The code of a card: as it is printed, and with other texts in place of its own."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import gguf
from transformers import AutoModelForCausalLM, AutoTokenizer

# For a process of its own. Only gguf is imported and no name is left: the code of a card still has to import
# what it uses.
READ_ONCE = """
def read_once():
    import functools, gguf
    for name in ("GGUFReader", "get_tensor_name_map"):
        setattr(gguf, name, functools.cache(getattr(gguf, name)))
read_once()
del read_once
"""


def blocks(card: str) -> dict[str, str]:
    """The Python of a card, by the library that it needs."""
    ours, plain = re.findall(r"```python\n(.*?)```", card, flags=re.DOTALL)
    assert "import figlang" in ours
    assert "figlang" not in plain
    return {"figlang": ours, "transformers": plain}


def scores(card: str, folder: Path, context: str, options: Sequence[str]) -> list[float]:
    """The scores that the plain lines of a card give to other texts, which are worded already."""
    first, second = options
    given = {
        "folder": f"folder = {str(folder)!r}",
        "metaphor": f"metaphor = {context!r}",
        "answer1, answer2": f"answer1, answer2 = {first!r}, {second!r}",
    }
    code = blocks(card)["transformers"]
    for name, line in given.items():
        code, changed = re.subn(rf"^{name} = .*$", lambda _, line=line: line, code, flags=re.MULTILINE)  # type: ignore[misc]
        assert changed == 1, name
    names: dict[str, Any] = {}
    with gguf_read_once():
        exec(code, names)
    found: list[float] = names["scores"].tolist()
    return found


@contextmanager
def gguf_read_once() -> Iterator[None]:
    """Let transformers read a network and a tokenizer from a GGUF file once: each takes seconds.

    It reads the file anew for the settings, the weights and the tokenizer, and makes the names of the tensors
    anew for every part of the network.
    """
    network, tokenizer = (
        patch.object(auto, "from_pretrained", partial(_read, auto.from_pretrained))
        for auto in (AutoModelForCausalLM, AutoTokenizer)
    )
    file, names = (
        patch.object(gguf, name, cache(getattr(gguf, name))) for name in ("GGUFReader", "get_tensor_name_map")
    )
    with network, tokenizer, file, names:
        yield


def _read(read: Callable[..., Any], source: str, **settings: Any) -> Any:
    if "gguf_file" not in settings:
        return read(source, **settings)
    return deepcopy(_kept(read, source, **settings))  # adapters change the network


@cache
def _kept(read: Callable[..., Any], source: str, **settings: Any) -> Any:
    return read(source, **settings)
