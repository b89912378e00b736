"""An export that `model=` names says what it was trained on."""

from dataclasses import replace
from pathlib import Path

import pytest

from figlang.config import PeftConfig
from figlang.models import checkpoint
from tests.models.trained import FORMATS, base, trained


@pytest.mark.parametrize("format", ["pair", "causal"])
def test_an_export_that_is_named_as_a_model_says_what_it_was_trained_on(tmp_path: Path, format: str) -> None:
    """A signature must not call it untrained, since reports take untrained systems for baselines."""
    model = base(tmp_path / "base", format, FORMATS[format])
    adapted, tokenizer, manifest = trained(model, format, PeftConfig(name="lora", r=4, alpha=8))
    checkpoint.export(adapted, tokenizer, manifest, tmp_path / "model")
    named = replace(model, name_or_path=str(tmp_path / "model"))
    opened = checkpoint.pretrained(named, None, "")
    facts = ("method", "trained_on", "settings", "seed")
    assert [getattr(opened.manifest, fact) for fact in facts] == [getattr(manifest, fact) for fact in facts]


def test_a_network_that_was_not_trained_here_is_untrained(tmp_path: Path) -> None:
    found = checkpoint.pretrained(base(tmp_path, "causal", "llama"), None, "").manifest
    assert (found.method, found.trained_on, found.settings, found.seed) == (
        "zero-shot",
        "nothing",
        "none",
        None,
    )
