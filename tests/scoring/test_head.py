"""Laws of encoders' scores: no effect of the batch, padding or the order of options; training works."""

import dataclasses
from collections.abc import Sequence
from math import exp, log

import pytest
import torch
from transformers import PreTrainedModel

from figlang.config import MethodConfig, ModelConfig
from figlang.errors import FiglangError
from figlang.evaluation.choosing import predict
from figlang.models import networks
from figlang.scoring.encode import Batch, Encoder, word
from figlang.scoring.head import scorer
from figlang.training.cross_entropy import CrossEntropyModule
from figlang.training.schedules import lr_factor
from figlang.types import Item

FORMATS = ("pair", "joint", "dual")
ITEMS = [
    Item(
        "a", "a", "The room was an oven", ("It was hot.", "It was cold and rather dark in every corner."), 0
    ),
    Item(
        "b", "a", "The room was a fridge.", ("It was hot.", "It was cold and rather dark in every corner."), 1
    ),
    Item(
        "c",
        "c",
        "His memory, of all the things he had ever owned, was a sieve!",
        ("He forgot.", "He knew."),
        0,
    ),
    Item("d", "d", "Time crawled", ("It was slow.", "It was fast."), 0),
]
THREE = Item("e", "e", "Her voice was velvet", ("It was soft.", "It was harsh.", "It was blue."), 0)


def build(format: str, architecture: str = "bert") -> tuple[PreTrainedModel, Encoder]:
    torch.manual_seed(0)
    texts = [text for item in (*ITEMS, THREE) for text in (item.context, *item.options)]
    network, tokenizer = networks.build(ModelConfig(init="tiny", architecture=architecture), format, texts, 3)
    return network, Encoder(tokenizer, format, "clean", 80)


def scores(format: str, items: Sequence[Item], batch_size: int = 8) -> list[tuple[float, ...]]:
    network, encoder = build(format)
    return [row.scores for row in predict(network, scorer(format, 20.0), encoder, items, batch_size)]


@pytest.mark.parametrize("format", FORMATS)
def test_companions_and_padding_change_no_score(format: str) -> None:
    alone = scores(format, ITEMS, batch_size=1)
    together = scores(format, ITEMS, batch_size=4)
    for one, other in zip(alone, together, strict=True):
        assert one == pytest.approx(other, abs=1e-5)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("order", [(1, 0, 2), (2, 1, 0), (1, 2, 0)])
def test_the_order_of_options_changes_no_score(format: str, order: tuple[int, ...]) -> None:
    shuffled = dataclasses.replace(THREE, options=tuple(THREE.options[index] for index in order))
    straight, permuted = scores(format, [THREE])[0], scores(format, [shuffled])[0]
    assert permuted == pytest.approx([straight[index] for index in order], abs=1e-5)
    assert len(set(straight)) == 3, "equal scores would make this test empty"


@pytest.mark.parametrize("format", FORMATS)
def test_items_with_different_numbers_of_options_share_a_batch(format: str) -> None:
    mixed = scores(format, [*ITEMS, THREE])
    assert [len(row) for row in mixed] == [2, 2, 2, 2, 3]
    assert mixed[-1] == pytest.approx(scores(format, [THREE])[0], abs=1e-5)


def test_pair_scores_are_those_of_plain_transformers() -> None:
    network, encoder = build("pair")
    item = ITEMS[0]
    context, options = word(item.context, "clean"), [word(option, "clean") for option in item.options]
    inputs = encoder.tokenizer([context] * 2, options, padding=True, return_tensors="pt")
    with torch.no_grad():
        plain = network.eval()(**{name: tensor[None] for name, tensor in inputs.items()}).logits[0].tolist()
    assert scores("pair", [item])[0] == pytest.approx(plain, abs=1e-6)


def test_a_dual_score_is_the_scaled_cosine_of_the_means() -> None:
    network, encoder = build("dual")
    item = ITEMS[0]
    with torch.no_grad():
        inputs = [
            encoder.tokenizer(word(text, "clean"), return_tensors="pt")
            for text in (item.context, *item.options)
        ]
        means = [network.eval()(**encoded).last_hidden_state[0].mean(0) for encoded in inputs]
    expected = [20 * float(torch.cosine_similarity(means[0], option, dim=0)) for option in means[1:]]
    assert scores("dual", [item])[0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("format", FORMATS)
def test_the_contrastive_loss_is_the_mean_of_minus_log_p_of_the_gold_options(format: str) -> None:
    network, encoder = build(format)
    module = CrossEntropyModule(
        network.eval(), MethodConfig(format=format), scorer(format, 20.0), steps=10, seed=0
    )
    with torch.no_grad():
        loss = module.loss(encoder.collate(encoder.encode(ITEMS)[0]))
    rows = scores(format, ITEMS)
    expected = [
        log(sum(exp(score - row[item.gold or 0]) for score in row))
        for item, row in zip(ITEMS, rows, strict=True)
    ]
    assert float(loss["loss"]) == pytest.approx(sum(expected) / len(ITEMS), abs=1e-4)
    right = sum(row[item.gold or 0] == max(row) for item, row in zip(ITEMS, rows, strict=True))
    assert (int(loss["cases"]), int(loss["correct"])) == (len(ITEMS), right)


@pytest.mark.parametrize("format", FORMATS)
def test_one_step_of_training_raises_the_gold_score_against_the_other(format: str) -> None:
    network, encoder = build(format)
    batch = encoder.collate(encoder.encode(ITEMS[:1])[0])
    module = CrossEntropyModule(
        network.eval(), MethodConfig(format=format), scorer(format, 20.0), steps=10, seed=0
    )

    def margin() -> float:
        row = module.score(network, batch)[0].detach()
        return float(row[0] - row[1])

    before = margin()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    module.training_step(batch, 0)["loss"].backward()
    optimizer.step()
    assert margin() > before


@pytest.mark.parametrize("format", FORMATS)
def test_four_items_can_be_learnt_by_heart(format: str) -> None:
    network, encoder = build(format)
    items = [dataclasses.replace(item, group=item.id) for item in ITEMS]
    batch = encoder.collate(encoder.encode(items)[0])
    module = CrossEntropyModule(
        network.train(), MethodConfig(format=format), scorer(format, 20.0), steps=1, seed=0
    )
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-3)
    for _ in range(150):
        optimizer.zero_grad()
        module.training_step(batch, 0)["loss"].backward()
        optimizer.step()
    assert all(row.correct for row in predict(network, module.score, encoder, items))


def test_joint_puts_all_options_into_one_sequence() -> None:
    _, encoder = build("joint")
    encoded, _ = encoder.encode([ITEMS[0]])
    text = encoder.tokenizer.decode(encoded[0].sequences[0])
    assert text.count("[SEP]") == 3
    assert text.startswith(
        "[CLS] the room was an oven . [SEP] it was cold and rather dark in every corner . [SEP] it was hot . "
        "[SEP]"
    )


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("it was hot", "It was hot."),
        ("It was hot.", "It was hot."),
        ("it was hot!? ", "It was hot."),
        ("I am Ann", "I am Ann."),
    ],
)
def test_clean_wording(raw: str, clean: str) -> None:
    assert word(raw, "clean") == clean
    assert word(raw, "raw") == raw


@pytest.mark.parametrize("style", ["clean", "raw"])
def test_no_text_stays_no_text(style: str) -> None:
    assert word("", style) == ""


def test_truncated_inputs_are_counted() -> None:
    _, encoder = build("pair")
    encoder.max_length = 12
    encoded, truncated = encoder.encode(ITEMS)
    assert truncated > 0
    assert max(example.longest for example in encoded) == 12


def test_an_item_with_one_option_is_refused_by_name() -> None:
    _, encoder = build("pair")
    with pytest.raises(FiglangError, match="item lonely has 1 option"):
        encoder.encode([Item("lonely", "lonely", "x", ("y",), 0)])


def test_the_learning_rate_rises_then_falls_to_zero() -> None:
    factors = [lr_factor(step, 10, 0.2) for step in range(11)]
    assert factors[:3] == [0.5, 1.0, 1.0]  # two warm-up steps, then the peak of the falling line
    assert factors[6] == pytest.approx(0.5)
    assert factors[10] == 0.0


def test_hidden_gold_is_minus_one_in_a_batch() -> None:
    _, encoder = build("pair")
    batch: Batch = encoder.collate(encoder.encode([dataclasses.replace(ITEMS[0], gold=None)])[0])
    assert batch.gold.tolist() == [-1]


@pytest.mark.parametrize("format", FORMATS)
def test_items_are_encoded_alike_in_one_call_and_in_several(
    format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, encoder = build(format)
    items = [
        Item(str(n), str(n), f"The night was ink {n}.", ("It was dark.", "It was very bright."), n % 2)
        for n in range(7)
    ]
    whole = encoder.encode(items)
    monkeypatch.setattr("figlang.scoring.encode.AT_ONCE", 3)
    assert encoder.encode(items) == whole
    assert [one.position for one in whole[0]] == list(range(7))
    assert encoder.encode([]) == ([], 0)
