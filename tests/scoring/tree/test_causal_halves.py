"""Halves of a trie that are scored at the same time give the same values and leave the network as it was."""

import random
import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.llama import modeling_llama

from figlang.scoring.requests import Request
from figlang.scoring.tree.causal import CausalScorer
from figlang.scoring.tree.states import read_tree
from tests.causal_models import NO_BLOCKS, TREE, check, network, tokenizer
from tests.sampled import sampled

TOKENIZER = tokenizer()


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def many() -> list[Request]:
    """Requests that fill many small packs and share little but within their pairs."""
    draw = random.Random(0)
    contexts = ["".join(draw.choice("abcdefgh the so") for _ in range(30)) for _ in range(40)]
    return [
        Request(context, answer) for context in contexts for answer in (" was the oven.", " was as the so.")
    ]


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("bos", ["none", "add"])
@pytest.mark.parametrize("family", sampled(TREE, "llama", "gpt2", "falcon"))
def test_two_halves_at_the_same_time_equal_one_sentence_at_a_time(
    family: str, bos: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("figlang.cpu.sliced.OUTPUTS", 64)
    plain = network(family, **TREE[family])
    kinds, usual = [type(part) for part in plain.modules()], ALL_ATTENTION_FUNCTIONS["sdpa"]
    scorer = CausalScorer(plain, TOKENIZER, bos=bos, pack=40)
    read: dict[int, int] = defaultdict(int)
    threads = 1 if family in NO_BLOCKS else 2
    # Each thread waits for the other one: a thread that ended before the other began would read both halves.
    both = threading.Barrier(threads)

    def reading(body: PreTrainedModel, tokens: Tensor, *rest: Any, **options: Any) -> Tensor:
        if len(read) < threads and threading.get_ident() not in read:
            both.wait(60)
        read[threading.get_ident()] += len(tokens)
        return read_tree(body, tokens, *rest, **options)

    monkeypatch.setattr("figlang.scoring.tree.states.read_tree", reading)
    scored = scorer.score(many())
    assert len(read) == threads
    assert min(read.values()) > 0.9 * max(read.values())
    sequences, _ = scorer.encoder.encode(many())
    distinct = {tuple(tokens.ids[:stop]) for tokens in sequences for stop in range(1, len(tokens.ids))}
    assert len(distinct) <= scored.read == sum(read.values()) <= 1.01 * len(distinct)
    assert [type(part) for part in plain.modules()] == kinds
    assert ALL_ATTENTION_FUNCTIONS["sdpa"] is usual
    check(plain, scorer, many())


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(("least", "threads"), [(500, 2), (5000, 1)])
def test_a_half_may_be_less_than_a_pack(least: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = network("llama", **TREE["llama"])
    monkeypatch.setattr("figlang.scoring.tree.causal.LEAST", least)
    scorer = CausalScorer(plain, TOKENIZER)
    read: list[int] = []

    def counted(body: Any, tokens: Tensor, *rest: Any) -> Tensor:
        read.append(len(tokens))
        return read_tree(body, tokens, *rest)

    monkeypatch.setattr("figlang.scoring.tree.states.read_tree", counted)
    scored = scorer.score(many())
    assert len(read) == threads
    assert sum(read) == scored.read > 1000
    check(plain, scorer, many())


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("family", ["gpt2", "llama", "qwen2"])
def test_two_halves_in_bf16_add_up_in_float32_as_one_does(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("figlang.cpu.sliced.OUTPUTS", 64)
    exact = torch.cat(list(CausalScorer(network(family, **TREE[family]), TOKENIZER).score(many()).log_probs))
    scorer = CausalScorer(network(family, **TREE[family]).to(torch.bfloat16), TOKENIZER, pack=40)
    assert scorer.anatomy.steady
    errors = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        errors.append(float((torch.cat(list(scorer.score(many()).log_probs)) - exact).square().mean()))
    assert errors[1] == pytest.approx(errors[0], rel=0.2)
    scorer.anatomy = replace(scorer.anatomy, steady=False)
    assert errors[1] < 0.95 * float((torch.cat(list(scorer.score(many()).log_probs)) - exact).square().mean())


@pytest.mark.usefixtures("two_threads")
def test_an_error_in_one_half_stops_the_other_and_leaves_the_network_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    half = network("llama", **TREE["llama"]).to(torch.bfloat16)
    scorer = CausalScorer(half, TOKENIZER, pack=40)
    assert scorer.anatomy.steady
    before = scorer.score(many()).log_probs
    kinds, usual, rotation = (
        [type(part) for part in half.modules()],
        ALL_ATTENTION_FUNCTIONS["sdpa"],
        modeling_llama.apply_rotary_pos_emb,
    )
    reads: list[int] = []

    def failing(*inputs: Any, **options: Any) -> Tensor:
        reads.append(threading.get_ident())
        # On a busy machine one thread may read several packs before the other reads its first.
        if len(reads) >= 5 and len(set(reads)) == 2:
            raise RuntimeError("no such kernel")
        return read_tree(*inputs, **options)

    with monkeypatch.context() as patched:
        patched.setattr("figlang.scoring.tree.states.read_tree", failing)
        with pytest.raises(RuntimeError, match="no such kernel"):
            scorer.score(many())
    assert len(set(reads)) == 2
    assert [type(part) for part in half.modules()] == kinds
    assert not any("forward" in vars(part) for part in half.modules())
    assert ALL_ATTENTION_FUNCTIONS["sdpa"] is usual
    assert modeling_llama.apply_rotary_pos_emb is rotation
    assert all(
        torch.equal(one, other) for one, other in zip(before, scorer.score(many()).log_probs, strict=True)
    )


@pytest.mark.usefixtures("two_threads")
def test_a_network_with_hooks_or_within_autocast_is_read_in_one_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = network("llama")
    scorer = CausalScorer(plain, TOKENIZER, pack=40)
    threads = set()

    def reading(*inputs: Any, **options: Any) -> Tensor:
        threads.add(threading.get_ident())
        return read_tree(*inputs, **options)

    monkeypatch.setattr("figlang.scoring.tree.states.read_tree", reading)
    for part in (plain.base_model.layers[0], plain.lm_head):
        with part.register_forward_pre_hook(lambda *_: None):
            scorer.score(many())
    with torch.autocast("cpu", torch.bfloat16):
        scorer.score(many())
    assert threads == {threading.get_ident()}
    scorer.score(many())
    assert len(threads) == 3
