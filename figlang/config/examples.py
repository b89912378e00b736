"""The examples of `--help`, which are in conf/examples.yaml since they name presets."""

from collections.abc import Mapping

import yaml

from figlang.config.presets import CONF


def _read() -> Mapping[str, tuple[str, ...]]:
    content = yaml.safe_load((CONF / "examples.yaml").read_text(encoding="utf-8"))
    return {verb: tuple(examples) for verb, examples in content.items()}


EXAMPLES = _read()
