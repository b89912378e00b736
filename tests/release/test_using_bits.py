"""The lines of a card for adapters over 4 bits of a GGUF file."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from figlang.config import ModelConfig, PeftConfig
from figlang.models import checkpoint, layout
from figlang.release import card
from figlang.scoring.encode import word
from tests import cards
from tests.models import test_gguf
from tests.models.test_checkpoint import DOCUMENT, TEXTS
from tests.models.trained import trained


def test_they_make_a_folder_of_the_file_and_round_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """transformers does not round what it reads from a GGUF file."""
    pytest.importorskip("bitsandbytes", reason="needs figlang[large]")
    monkeypatch.chdir(tmp_path)  # the file is converted to a folder beside it
    monkeypatch.setattr(test_gguf, "HIDDEN", 64)  # bitsandbytes rounds 64 weights together
    monkeypatch.setattr(test_gguf, "INNER", 128)
    file = test_gguf.written(tmp_path / "tiny.gguf")
    model = ModelConfig(name="tiny", name_or_path=str(file), family="causal", quantization="4bit")
    adapted, tokenizer, manifest = trained(model, "causal", PeftConfig(name="qlora"))
    manifest = replace(manifest, base_precision=layout.precision(adapted.get_base_model()))
    folder = tmp_path / "model"
    checkpoint.export(adapted, tokenizer, manifest, folder, card.card(manifest, DOCUMENT))
    context, *options = (word(text, "clean") for text in TEXTS)
    found = cards.scores((folder / "README.md").read_text(), folder, context, options)
    assert len(found) == len(options)
    code = cards.blocks((folder / "README.md").read_text())["transformers"]
    names: dict[str, Any] = {}
    exec(code.replace('folder = "."', f"folder = {str(folder)!r}"), names)
    assert getattr(names["network"].get_base_model(), "is_loaded_in_4bit", False)
