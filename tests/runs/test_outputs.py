"""What determines the result of an evaluation, and what does not."""

from dataclasses import replace

from figlang.config import EvaluateConfig
from figlang.runs.outputs import decided_by
from figlang.types import Split

SPLIT = Split("sample", (), "sample.csv", "0" * 64)


def test_the_place_of_a_base_decides_nothing_and_a_fold_does() -> None:
    config = EvaluateConfig()
    before = decided_by(config, SPLIT, {})
    config.model = replace(config.model, base="/elsewhere")  # whose weights are compared when it is loaded
    assert decided_by(config, SPLIT, {}) == before
    config.data = replace(config.data, fold="1/2")
    assert decided_by(config, SPLIT, {}) != before
