"""Laws of the vocabulary matrix: slices equal the whole, and corrected logits count from the beginning."""

import weakref
from math import log
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from figlang.cpu import sliced as slices
from figlang.cpu.sliced import sliced
from figlang.errors import FiglangError
from figlang.scoring.flat import Tokens
from figlang.scoring.tree.anatomy import dissect
from figlang.scoring.tree.causal import CausalScorer
from figlang.scoring.tree.trie import Trie, grow
from figlang.scoring.tree.vocabulary import WAITING, Vocabulary, largest
from tests.causal_models import APART, TREE, check, network, requests, tokenizer
from tests.sampled import sampled

TOKENIZER = tokenizer()
SIZE, HIDDEN = 300, 16


def trie() -> Trie:
    """Two contexts, one with three continuations, another with every token as one."""
    few = [Tokens([1, 2, *ends], 2) for ends in ([5, 6], [7], [299])]
    return grow([*few, *(Tokens([1, 3, token], 2) for token in range(SIZE))])


def expected(trie: Trie, states_RH: Tensor, logits_RV: Tensor, exact_RV: Tensor | None = None) -> Tensor:
    """By definition, in float64, each row with the exact logits of its scored tokens and of its likeliest."""
    found = torch.full((len(trie.tokens),), torch.nan, dtype=torch.float64)
    for place, node in enumerate(trie.read.tolist()):
        children = [child for child in trie.scored.tolist() if int(trie.parents[child]) == node]
        row_V, tokens = logits_RV[place].double(), trie.tokens[children]
        if exact_RV is not None and children:
            for token in {int(row_V.argmax()), *tokens.tolist()}:
                row_V[token] = exact_RV[place, token].double()
        found[children] = row_V.log_softmax(-1)[tokens]
    return found


@pytest.mark.parametrize("budget", [1, 3 * SIZE, 2**20])
@pytest.mark.parametrize("width", [50, 128, 299, 300])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_slices_of_logits_give_log_probabilities_of_all(dtype: torch.dtype, width: int, budget: int) -> None:
    torch.manual_seed(0)
    tree, matrix_VH = trie(), 2 * torch.randn(SIZE, HIDDEN)
    states_RH = torch.randn(len(tree.read), HIDDEN)
    # A token that is scored has all the probability.
    states_RH[1] = states_RH[3] = 40 * matrix_VH[7] / matrix_VH[7].norm()
    exact_RV = states_RH @ matrix_VH.t()
    logits_RV = exact_RV.to(dtype)
    exact = None if dtype == torch.float32 else lambda states, tokens: (states * matrix_VH[tokens]).sum(-1)

    def head(first: int) -> Any:
        return lambda states: (states @ matrix_VH[first : first + width].t()).to(dtype)

    vocabulary = Vocabulary(tree, [head(first) for first in range(0, SIZE, width)], exact, budget)
    vocabulary.add(tree.read[:2], states_RH[:2])
    vocabulary.add(tree.read[2:], states_RH[2:])
    vocabulary.finish()
    by_definition = expected(tree, states_RH, logits_RV, None if exact is None else exact_RV)
    assert int((~vocabulary.values.isnan()).sum()) == len(tree.scored) == SIZE + 4
    assert torch.allclose(vocabulary.values.double(), by_definition, atol=2e-5, rtol=1e-6, equal_nan=True)


def test_logits_so_large_that_rounding_moves_them_by_many_nats_have_log_probabilities_all_the_same() -> None:
    torch.manual_seed(0)
    tree = trie()
    exact_RV = 12_500 + 10 * torch.rand(len(tree.read), SIZE)
    matrix_VH = torch.eye(SIZE)
    exact_RV[:, 7], exact_RV[:, 8] = 12_651.5, 12_600.0  # rounded to 12,672 and 12,608
    vocabulary = Vocabulary(
        tree,
        [lambda states: states.bfloat16()],
        lambda states, tokens: (states * matrix_VH[tokens]).sum(-1),
        2**20,
    )
    vocabulary.add(tree.read, exact_RV)
    vocabulary.finish()
    found = expected(tree, exact_RV, exact_RV.bfloat16(), exact_RV)
    assert torch.allclose(vocabulary.values.double(), found, atol=0.02, equal_nan=True)
    assert vocabulary.values[~vocabulary.values.isnan()].max() <= 0


def test_one_slice_of_logits_exists_at_a_time() -> None:
    tree, alive = trie(), []

    def head(states: Tensor) -> Tensor:
        assert all(logits() is None for logits in alive)
        logits = torch.zeros(len(states), SIZE // 3)
        alive.append(weakref.ref(logits))
        return logits

    vocabulary = Vocabulary(tree, [head] * 3, None, 2**20)
    vocabulary.add(tree.read, torch.zeros(len(tree.read), HIDDEN))
    vocabulary.finish()
    assert len(alive) == 4  # the first one tells the width


def test_rows_are_read_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("figlang.scoring.tree.vocabulary.ROWS", 2)
    tree, rows = trie(), []
    vocabulary = Vocabulary(
        tree, [lambda states: rows.append(len(states)) or torch.zeros(len(states), SIZE)], None, 2**20
    )
    vocabulary.add(tree.read, torch.zeros(len(tree.read), HIDDEN))
    vocabulary.finish()
    assert rows == [1, 2, 1]
    assert vocabulary.values[tree.scored].tolist() == pytest.approx([-log(SIZE)] * len(tree.scored))


def test_states_wait_for_a_few_products_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("figlang.scoring.tree.vocabulary.ROWS", 2)
    tree, rows = trie(), []
    vocabulary = Vocabulary(
        tree, [lambda states: rows.append(len(states)) or torch.zeros(len(states), SIZE)], None, 2**20
    )
    nodes = torch.tensor([int(tree.read[1])] * (2 * WAITING + 3))  # a node again and again, to have many
    for known, node in enumerate(nodes.split(1), start=1):
        vocabulary.add(node, torch.zeros(1, HIDDEN))
        assert known - sum(rows[1:]) < 2 * WAITING  # the first one tells the width
    assert rows == [1, *[2] * WAITING]
    vocabulary.finish()
    assert sum(rows[1:]) == len(nodes)


def test_a_token_that_the_network_does_not_know_is_refused() -> None:
    tree = grow([Tokens([1, 2, 305], 2)])
    vocabulary = Vocabulary(tree, [lambda states: torch.zeros(len(states), 150)] * 2, None, 2**20)
    vocabulary.add(tree.read, torch.zeros(len(tree.read), HIDDEN))
    with pytest.raises(FiglangError, match="token 305 is none of the 300 that the network predicts"):
        vocabulary.finish()


def test_a_slice_of_tokens_that_are_never_said_adds_nothing() -> None:
    tree, logits_RV = grow([Tokens([1, 2], 1), Tokens([1, 250], 1)]), torch.randn(1, SIZE)
    logits_RV[:, 200:] = -torch.inf
    vocabulary = Vocabulary(
        tree, [lambda _: logits_RV[:, :200].clone(), lambda _: logits_RV[:, 200:].clone()], None, 2**20
    )
    vocabulary.add(tree.read, torch.zeros(1, HIDDEN))
    vocabulary.finish()
    said, never = vocabulary.values[tree.scored].tolist()
    assert said == pytest.approx(float(logits_RV.log_softmax(-1)[0, 2]), abs=1e-6)
    assert never == -torch.inf


@pytest.mark.parametrize("family", sampled(TREE, *APART))
def test_scoring_by_slices_equals_one_sentence_at_a_time(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "OUTPUTS", 64)
    plain = network(family, **TREE[family])
    assert len(dissect(plain).matrix()) == 5
    for scorer in (CausalScorer(plain, TOKENIZER), CausalScorer(plain, TOKENIZER, logits=3 * 64)):
        check(plain, scorer, requests())


@pytest.mark.parametrize("bias", [True, False])
def test_slices_of_a_layer_are_the_layer_and_see_what_is_written_into_it(
    bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "OUTPUTS", 7)
    layer, input = nn.Linear(4, 20, bias), torch.randn(3, 4)
    parts = sliced(layer)
    assert [part.weight.shape[0] for part in parts] == [7, 7, 6]
    with torch.no_grad():
        for _ in range(2):
            assert torch.allclose(torch.cat([part(input) for part in parts], -1), layer(input), atol=1e-6)
            layer.weight.add_(1)
    assert not any(parameter.requires_grad for parameter in parts.parameters())


class Quantised(nn.Parameter):
    """No plain weight, and not to be split as one."""


class Doubled(nn.Linear):
    """No plain linear layer."""

    def forward(self, input: Tensor) -> Tensor:
        return 2 * super().forward(input)


def test_what_is_small_or_hooked_or_no_plain_layer_is_left_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    hooked, small = nn.Linear(4, 20), nn.Linear(4, 7)
    hooked.register_forward_hook(lambda _, __, output: output)
    monkeypatch.setattr(slices, "OUTPUTS", 7)
    other = nn.Linear(4, 20)
    other.weight = nn.Parameter(other.weight)
    other.weight.__class__ = Quantised
    for layer in (hooked, small, other, Doubled(4, 20), nn.Linear(4, 20, device="meta"), nn.Embedding(20, 4)):
        assert list(sliced(layer)) == [layer]


@pytest.mark.parametrize("size", [1, 127, 128, 129, 300, 512])
def test_the_largest_value_is_found_in_its_block(size: int) -> None:
    torch.manual_seed(size)
    values_RV = torch.randn(40, size)
    values_RV[0, -1] = values_RV[1, 0] = 9.0
    assert largest(values_RV).tolist() == values_RV.argmax(-1).tolist()
