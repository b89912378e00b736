"""Merged adapters: the scores are equal, the folder is plain, and a merge that changes scores is refused."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel

from figlang.commands.merge import main as merge_command
from figlang.config import ModelConfig, PeftConfig
from figlang.errors import FiglangError
from figlang.models import checkpoint, lora
from figlang.release import merging
from tests.models.test_checkpoint import DOCUMENT
from tests.models.trained import FORMATS, ITEMS, exported, loaded_scores, scores, trained


@pytest.mark.parametrize(
    ("format", "kind"), [("pair", "lora"), ("joint", "dora"), ("dual", "lora"), ("causal", "rslora")]
)
def test_merged_scores_are_equal_and_the_folder_is_plain(tmp_path: Path, format: str, kind: str) -> None:
    before, folder = exported(tmp_path, format, FORMATS[format], kind)
    merging.merge(checkpoint.load_unmerged(str(folder)), ITEMS, tmp_path / "whole")
    assert (tmp_path / "whole" / "model.safetensors").is_file()
    assert not list((tmp_path / "whole").glob("adapter*"))
    assert loaded_scores(tmp_path / "whole") == pytest.approx(before, abs=1e-5)


@pytest.mark.parametrize(
    ("before", "after"), [("pair", "pair"), ("pair", "joint"), ("dual", "dual"), ("causal", "causal")]
)
def test_adapters_over_a_run_with_adapters_are_merged_with_them(
    tmp_path: Path, before: str, after: str
) -> None:
    _, below = exported(tmp_path, before, FORMATS[before])
    model = ModelConfig(name_or_path=str(below), family="causal" if after == "causal" else "encoder")
    adapted, tokenizer, manifest = trained(
        model, after, PeftConfig(name="dora", dropout=0.0), options=3 if after == "joint" else 2
    )
    expected = scores(adapted, tokenizer, manifest)
    checkpoint.export(adapted, tokenizer, manifest, tmp_path / "above")
    merging.merge(checkpoint.load_unmerged(str(tmp_path / "above")), ITEMS, tmp_path / "merged")
    shutil.rmtree(below)
    assert loaded_scores(tmp_path / "merged") == pytest.approx(expected, abs=1e-4)


def test_the_command_writes_a_plain_folder_with_a_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before, folder = exported(tmp_path)
    about = {
        "model": "tiny",
        "data_name": "figqa_sample",
        "split": "validation",
        "seed": 0,
        "published_file": False,
    }
    counted = {"items": 0, "hidden": 0, "ties": 0, "accuracy_by": {}, **DOCUMENT["metrics"]}
    (tmp_path / "metrics.json").write_text(json.dumps(DOCUMENT | about | {"metrics": counted}))
    monkeypatch.setattr(sys, "argv", ["merge", f"checkpoint={folder}", f"output={tmp_path / 'whole'}"])
    merge_command()
    assert loaded_scores(tmp_path / "whole") == pytest.approx(before, abs=1e-5)
    assert "library_name: transformers" in (tmp_path / "whole" / "README.md").read_text()
    with pytest.raises(SystemExit, match="2"):
        merge_command()
    assert "already exists" in capsys.readouterr().err


@pytest.mark.parametrize(("factor", "tolerance"), [(3, merging.TOLERANCE), (1 + 1e-4, -1.0)])
def test_a_merge_that_changes_scores_by_more_than_rounding_writes_nothing(
    factor: float, tolerance: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, folder = exported(tmp_path)
    right = lora.merge

    def wrong(adapted: PeftModel) -> Any:
        network = right(adapted)
        network.classifier.weight.data *= factor
        return network

    monkeypatch.setattr(lora, "merge", wrong)
    monkeypatch.setattr(merging, "TOLERANCE", tolerance)
    said = r"merging changes a score by .*, but float32 rounds by only .*; nothing was written"
    with pytest.raises(FiglangError, match=said):
        merging.merge(checkpoint.load_unmerged(str(folder)), ITEMS, tmp_path / "whole")
    assert not (tmp_path / "whole").exists()


@pytest.mark.parametrize(
    ("format", "kind"), [("pair", "lora"), ("joint", "rslora"), ("dual", "dora"), ("causal", "lora")]
)
def test_a_merge_may_change_scores_by_what_float32_rounds(
    tmp_path: Path, format: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, folder = exported(tmp_path, format, FORMATS[format], kind)
    monkeypatch.setattr(merging, "TOLERANCE", -1.0)  # so that the rounding decides
    before = merging.scores_of(checkpoint.load_unmerged(str(folder)), ITEMS)
    merging.merge(checkpoint.load_unmerged(str(folder)), ITEMS, tmp_path / "whole")
    whole = checkpoint.load(str(tmp_path / "whole"))
    assert whole.network.dtype == torch.float32
    assert merging.scores_of(whole, ITEMS) == pytest.approx(before, abs=1e-5)
