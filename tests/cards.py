"""The code of a card: as it is printed, and with other texts in place of its own."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any


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
    exec(code, names)
    found: list[float] = names["scores"].tolist()
    return found
