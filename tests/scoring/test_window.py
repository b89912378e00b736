"""How much a network reads: the network itself reads so many tokens, and not one more."""

from pathlib import Path

import pytest
import torch
from transformers import AutoConfig, AutoModel

from figlang.models import checkpoint
from figlang.scoring.window import positions, window

SIZES = {
    "vocab_size": 40,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
}


@pytest.mark.parametrize("kind", ["bert", "roberta", "mpnet", "electra", "camembert"])
def test_a_network_reads_its_window_and_not_a_token_more(kind: str) -> None:
    config = AutoConfig.for_model(kind, **SIZES, max_position_embeddings=20, pad_token_id=1)
    network = AutoModel.from_config(config).eval()
    longest = window(network)
    assert longest is not None
    network(torch.full((1, longest), 5))
    with pytest.raises((IndexError, RuntimeError)):
        network(torch.full((1, longest + 1), 5))


def test_positions_without_a_table_have_no_window(tmp_path: Path) -> None:
    config = AutoConfig.for_model("xlnet", vocab_size=40, d_model=8, n_layer=1, n_head=2, d_inner=8)
    network = AutoModel.from_config(config)
    assert window(network) is None
    assert positions(config) is None
    network.save_pretrained(tmp_path)
    assert checkpoint.named(str(tmp_path), None)[1].max_length > 0


def test_the_part_that_reads_text_says_how_many_positions_there_are() -> None:
    text = {**SIZES, "max_position_embeddings": 20}
    assert positions(AutoConfig.for_model("gemma3", text_config=text)) == 20
    assert positions(AutoConfig.for_model("gpt2", n_positions=30)) == 30
