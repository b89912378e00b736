"""`figlang models`: kinds, sizes and places of the presets."""

from pathlib import Path

import pytest

from figlang.config.presets import CONF
from figlang.models import listing

PRESETS = {preset.name: preset for preset in listing.presets(CONF / "model")}


@pytest.mark.parametrize(
    ("name", "kind", "size"),
    [
        ("roberta", "encoder", "355M"),
        ("minilm", "sentence encoder", "22.7M"),
        ("nli_roberta", "NLI", "355M"),
        ("gpt_neo", "causal", "1.3B"),
        ("served", "served", ""),
    ],
)
def test_kind_and_size_of_a_preset(name: str, kind: str, size: str) -> None:
    assert (PRESETS[name].kind, PRESETS[name].size) == (kind, size)


def test_the_list_has_every_preset_in_lines_of_80() -> None:
    shown = listing.text(CONF / "model").splitlines()
    assert [line for line in shown if len(line) > 80] == []
    assert len([line for line in shown if line.startswith("  model=")]) == len(PRESETS)
    some = listing.text(CONF / "model", "NLI")
    assert "model=nli_roberta" in some
    assert "model=gpt2" not in some


def test_where_weights_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HOME", raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert listing.where("package:figlang/samples") == "here, package figlang"
    assert listing.where("package:no_such_thing/x") == "not here: pip install --no-deps no-such-thing"
    assert listing.where("") == "you name it"
    assert listing.where("org/name") == "not here, from the hub at first use"
    kept = tmp_path / "models--org--name" / "snapshots" / "abc"
    kept.mkdir(parents=True)
    (kept / "config.json").touch()
    assert listing.where("org/name") == "here, hub cache"
