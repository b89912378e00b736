"""MUNCH's commands on the bundled sample."""

from collections.abc import Callable
from typing import Any

TINY = ["model=causal", "model.bos=add", "trainer=cpu", "trainer.progress=false"]
SAMPLE = ["data.root=package:figlang/samples", "data.limit=6"]
Run = Callable[..., dict[str, Any]]
