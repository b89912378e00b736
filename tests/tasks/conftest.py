"""Fixtures of several tasks."""

from pathlib import Path

import pytest

from tests.causal_models import network, tokenizer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny causal model."""
    path = tmp_path_factory.mktemp("model") / "tiny"
    network("llama", max_position_embeddings=2048).save_pretrained(path)
    tokenizer().save_pretrained(path)
    return path
