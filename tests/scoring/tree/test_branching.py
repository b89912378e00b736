"""What is trained is exactly what is evaluated, in any batch or row (figlang/scoring/tree/branching.py)."""

import pytest
import torch

from figlang.config import PromptConfig, ScoringConfig
from figlang.scoring.likelihood import choose
from figlang.scoring.requests import Request, RequestEncoder
from figlang.scoring.tree.anatomy import dissect
from figlang.scoring.tree.branching import StringEncoder, StringScorer
from figlang.scoring.tree.causal import CausalScorer
from figlang.scoring.wording import Wording
from figlang.types import Item
from tests.causal_models import TREE, WHOLE, network, tokenizer, values

ITEMS = [
    Item("1", "1", "the room was an oven", ("it was hot", "it was cold"), 0),
    Item("2", "1", "the room was a fridge", ("it was hot", "it was cold"), 1),
    Item("3", "3", "time crawled", ("slow", "slower than ever before", "slow"), 2),
]
SCORINGS = {
    "answer": ScoringConfig(span="answer", backward_span="answer", norm="sum"),
    "clean": ScoringConfig(),
    "pmi": ScoringConfig(span="answer", norm="sum", minus_alone=True),
    "byte": ScoringConfig(span="answer", norm="byte", template="{metaphor}, so {answer}!"),
}


def encoder(scoring: ScoringConfig, sharing: bool, bos: str = "add") -> StringEncoder:
    return StringEncoder(RequestEncoder(tokenizer(), bos), Wording(scoring, PromptConfig()), sharing)


@pytest.mark.parametrize("name", SCORINGS)
@pytest.mark.parametrize("family", ["gpt2", "llama", "gemma2", "qwen2", "mamba", "bloom"])
def test_training_scores_are_the_evaluations(family: str, name: str) -> None:
    built = network(family, **(TREE | WHOLE)[family])
    anatomy, scoring = dissect(built), SCORINGS[name]
    strings = encoder(scoring, sharing=anatomy.reason(0) is None)
    assert strings.sharing == (family in TREE)
    batch = strings.collate(strings.encode(ITEMS))
    found = StringScorer(anatomy)(built, batch).tolist()
    expected = choose(CausalScorer(built, tokenizer(), "add"), ITEMS, strings.wording).forward
    for scores, row in zip(found, expected, strict=True):
        assert scores[: len(row.scores)] == pytest.approx(row.scores, abs=1e-4)
        assert scores[len(row.scores) :] == [-torch.inf] * (len(scores) - len(row.scores))
    assert batch.gold.tolist() == [0, 1, 2]
    assert batch.positions == [0, 1, 2]


def test_pairs_add_the_backward_choices() -> None:
    built = network("llama")
    strings = encoder(SCORINGS["answer"], sharing=True)
    batch = strings.collate(strings.encode_pairs(ITEMS))
    assert batch.inputs["input_ids"].shape[0] == 2, "the pair is one row"
    found = StringScorer(dissect(built))(built, batch).tolist()
    directions = choose(CausalScorer(built, tokenizer(), "add"), ITEMS, strings.wording)
    expected = [*directions.forward[:2], *directions.backward, directions.forward[2]]
    assert [scores[: len(row.scores)] for scores, row in zip(found, expected, strict=True)] == [
        pytest.approx(row.scores, abs=1e-4) for row in expected
    ]
    assert batch.gold.tolist() == [row.gold for row in expected]


@pytest.mark.parametrize("sharing", [True, False])
def test_companions_change_no_score(sharing: bool) -> None:
    built = network("gpt2")
    strings = encoder(SCORINGS["clean"], sharing)
    score = StringScorer(dissect(built))
    examples = strings.encode(ITEMS)
    together = score(built, strings.collate(examples))
    for place, example in enumerate(examples):
        alone = score(built, strings.collate([example]))[0]
        torch.testing.assert_close(together[place][: len(alone)], alone, atol=1e-5, rtol=0)


def test_a_shared_row_reads_every_beginning_once() -> None:
    shared, plain = (encoder(SCORINGS["answer"], sharing).encode(ITEMS)[0] for sharing in (True, False))
    tokens = [sum(len(row.tokens) for row in example.sequences) for example in (shared, plain)]
    metaphor = len(tokenizer()("The room was an oven.")["input_ids"]) + 1
    assert tokens[1] - tokens[0] >= metaphor
    assert len(shared.sequences) == 1
    assert len(plain.sequences) == 2


@pytest.mark.parametrize("sharing", [True, False])
def test_gradients_do_not_depend_on_sharing(sharing: bool) -> None:
    built = network("llama")
    strings = encoder(SCORINGS["answer"], sharing)
    loss = torch.nn.functional.cross_entropy(
        StringScorer(dissect(built))(built, strings.collate(strings.encode(ITEMS[:2]))), torch.tensor([0, 1])
    )
    loss.backward()
    reference = network("llama")
    scores = []
    for item in ITEMS[:2]:
        for option in item.options:
            request = strings.wording.span("", item.context, option)
            tokens = strings.requests.encode([request])[0][0]
            logits = reference(torch.tensor([tokens.ids[:-1]])).logits[0].log_softmax(-1)
            scores.append(
                sum(logits[place - 1, tokens.ids[place]] for place in range(tokens.start, len(tokens.ids)))
            )
    torch.nn.functional.cross_entropy(torch.stack(scores).view(2, 2), torch.tensor([0, 1])).backward()
    for ours, plain in zip(built.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, plain.grad, atol=1e-4, rtol=1e-3)


def test_lines_are_the_networks_own_loss() -> None:
    built = network("gpt2")
    strings = encoder(SCORINGS["clean"], sharing=True)
    lines = ["The room was an oven. It was hot.", "Time crawled."]
    batch = strings.collate(strings.encode_lines(lines))
    found = StringScorer(dissect(built)).log_probs(built, batch).tolist()
    sequences = strings.requests.encode([Request("", line) for line in lines])[0]
    assert found == pytest.approx(
        [v for tokens in sequences for v in values(built, tokens.ids, tokens.start)], abs=1e-4
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_mask_is_in_the_networks_precision_and_finite_in_all(dtype: torch.dtype) -> None:
    # A GPU's attention takes the bytes of a float32 mask for numbers of its own precision.
    built, seen = network("llama").to(dtype), []
    built.model.register_forward_pre_hook(
        lambda _, inputs, given: seen.append(given["attention_mask"]), with_kwargs=True
    )
    strings = encoder(SCORINGS["clean"], sharing=True)
    batch = strings.collate(strings.encode(ITEMS))
    StringScorer(dissect(built))(built, batch)
    assert seen[-1].dtype == dtype
    for least in (torch.float32, torch.bfloat16, torch.float16):  # autocast may round it
        assert bool(seen[-1].to(least).isfinite().all())
    hidden = batch.inputs["attention_mask"].min()
    assert float((torch.zeros(2) + torch.tensor([0.0, hidden])).softmax(0)[1]) == 0
