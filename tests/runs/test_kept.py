"""Items kept beside their predictions come back as they were."""

from pathlib import Path

from figlang.config import DataConfig
from figlang.runs import kept
from figlang.types import Item


def test_a_text_may_hold_what_python_takes_for_the_end_of_a_line(tmp_path: Path) -> None:
    texts = ("one\u2028two", "one\u0085two", "one\ntwo\r\nthree\x0bfour")
    items = [Item(f"{place}", "g", text, ("a", "b"), 0) for place, text in enumerate(texts)]
    kept.write(tmp_path, items)
    found = kept.read(tmp_path, {}, DataConfig())
    assert found is not None
    assert list(found.items) == items
