"""Laws of NLI networks: order of classes, choices and judgements by hand, two-class networks, training."""

from itertools import permutations

import numpy as np
import pytest
import torch
from scipy.special import softmax
from transformers import BertConfig, PreTrainedConfig, PreTrainedModel

from figlang.config import MethodConfig, ModelConfig
from figlang.errors import FiglangError
from figlang.evaluation.choosing import predict
from figlang.models import networks
from figlang.scoring.encode import Encoder
from figlang.scoring.nli import choices, classes, judgements, label_order, option_scores
from figlang.statistics.metrics import accuracy
from figlang.tasks.miqa.task import MiQa
from figlang.training.cross_entropy import CrossEntropyModule
from figlang.types import CLASSES, TWO_CLASSES, Inference, Item, Prediction

PAIR = [
    Item("a", "p", "Her word was titanium.", ("It holds.", "It breaks."), 0, {"commonsense": ("objects",)}),
    Item("b", "p", "Her word was a wine glass.", ("It holds.", "It breaks."), 1),
]
# Logits of (entailment, neutral, contradiction), item by item and option by option.
LOGITS = [(2.0, 0.0, -1.0), (-1.0, 0.0, 2.0), (1.0, 2.0, 0.0), (0.5, 2.0, 0.0)]
PREMISES = [
    Inference("x", "x", "A dog runs.", CLASSES, 0, hypothesis="A dog moves."),
    Inference("y", "x", "A dog runs.", CLASSES, 2, hypothesis="A dog sleeps in its basket all day."),
    Inference("z", "z", "It rains.", CLASSES, 1, hypothesis="It is May."),
]


def judged(logits: list[tuple[float, ...]]) -> list[Prediction]:
    rows = judgements(PAIR, len(logits[0]))
    return [Prediction(row.id, row.group, row.gold, scores) for row, scores in zip(rows, logits, strict=True)]


# Which output is which class


YNIE = {0: "entailment", 1: "neutral", 2: "contradiction"}
CROSS_ENCODER = {0: "contradiction", 1: "entailment", 2: "neutral"}


def labelled(names: dict[int, str]) -> PreTrainedConfig:
    return BertConfig(id2label=names, label2id={name: index for index, name in names.items()})


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (YNIE, (0, 1, 2)),
        (CROSS_ENCODER, (1, 2, 0)),
        ({0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}, (2, 1, 0)),
        ({0: "entail", 1: "contradict", 2: " Neutral"}, (0, 2, 1)),
        ({0: "entailment", 1: "not_entailment"}, (0, 1)),
        ({0: "not entailment", 1: "entailment"}, (1, 0)),
    ],
)
def test_the_order_is_read_from_the_names(names: dict[int, str], order: tuple[int, ...]) -> None:
    assert label_order(labelled(names), None, "x") == order


@pytest.mark.parametrize(
    "names",
    [
        {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"},
        {0: "entailment", 1: "neutral", 2: "neutral"},
        {0: "entailment", 1: "neutral", 2: "other"},
        {0: "entailment", 1: "contradiction"},
        {0: "positive", 1: "negative"},
        {0: "entailment"},
    ],
)
def test_names_that_do_not_tell_are_refused_with_the_sentence_that_sets_them(names: dict[int, str]) -> None:
    with pytest.raises(
        FiglangError, match=r"some/model: its labels are .* cannot be told; .* nli\.labels=\["
    ):
        label_order(labelled(names), None, "some/model")


def test_labels_that_contradict_each_other_are_refused_until_a_person_says_which() -> None:
    config = BertConfig(id2label=YNIE, label2id={name: index for index, name in CROSS_ENCODER.items()})
    with pytest.raises(FiglangError, match="by id2label and others by label2id"):
        label_order(config, None, "x")
    assert label_order(config, ["contradiction", "entailment", "neutral"], "x") == (1, 2, 0)
    assert label_order(BertConfig(id2label=YNIE), None, "x") == (0, 1, 2)  # label2id does not know the names


def test_labels_that_are_given_go_before_the_names() -> None:
    unnamed = {index: f"LABEL_{index}" for index in range(3)}
    assert label_order(labelled(unnamed), ["contradiction", "entailment", "neutral"], "x") == (1, 2, 0)
    assert label_order(labelled(YNIE), ["neutral", "contradiction", "entailment"], "x") == (2, 0, 1)


def test_given_labels_that_contradict_clear_ones_are_obeyed_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    label_order(labelled(YNIE), list(YNIE.values()), "some/model")
    label_order(labelled({index: f"LABEL_{index}" for index in range(3)}), list(YNIE.values()), "some/model")
    assert caplog.messages == []
    label_order(labelled(YNIE), ["neutral", "contradiction", "entailment"], "some/model")
    (said,) = caplog.messages
    assert said.startswith(
        "some/model: nli.labels=[neutral,contradiction,entailment] goes before the labels that it names "
        "itself"
    )


@pytest.mark.parametrize(
    "given", [["entailment", "neutral"], ["entailment", "neutral", "neutral"], ["a", "b", "c"], []]
)
def test_given_labels_that_do_not_fit_are_refused(given: list[str]) -> None:
    with pytest.raises(FiglangError, match=r"nli\.labels=\[.*so which of its 3 outputs"):
        label_order(labelled(YNIE), given, "x")


def network_in_order(order: tuple[int, ...]) -> tuple[PreTrainedModel, Encoder]:
    """One tiny network; `order` says at which output each class stands."""
    torch.manual_seed(0)
    texts = [text for item in PREMISES for text in (item.context, item.hypothesis)]
    network, tokenizer = networks.build(ModelConfig(init="tiny"), "nli", texts, 3)
    network.classifier.weight.data.normal_()
    rows = [order.index(output) for output in range(3)]
    network.classifier.weight.data = network.classifier.weight.data[rows]
    network.classifier.bias.data = network.classifier.bias.data[rows]
    networks.name_classes(network, [CLASSES[row] for row in rows])
    return network, Encoder(tokenizer, "nli", "raw", 80)


def class_scores(network: PreTrainedModel, encoder: Encoder, batch_size: int = 8) -> list[tuple[float, ...]]:
    order = label_order(network.config, None, "x")
    return [row.scores for row in predict(network, classes(order), encoder, PREMISES, batch_size)]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_all_six_orders_give_one_result(order: tuple[int, ...]) -> None:
    expected = class_scores(*network_in_order((0, 1, 2)))
    assert len(set(expected[0])) == 3, "equal scores would make this test empty"
    for one, other in zip(class_scores(*network_in_order(order)), expected, strict=True):
        assert one == pytest.approx(other, abs=1e-6)


def test_companions_and_padding_change_no_score() -> None:
    for one, other in zip(
        class_scores(*network_in_order((0, 1, 2)), 1), class_scores(*network_in_order((0, 1, 2))), strict=True
    ):
        assert one == pytest.approx(other, abs=1e-5)


def test_scores_are_those_of_plain_transformers() -> None:
    network, encoder = network_in_order((1, 2, 0))
    inputs = encoder.tokenizer(PREMISES[0].context, PREMISES[0].hypothesis, return_tensors="pt")
    with torch.no_grad():
        plain = network.eval()(**inputs).logits[0].tolist()
    assert class_scores(network, encoder)[0] == pytest.approx([plain[1], plain[2], plain[0]], abs=1e-6)


def test_for_items_of_two_classes_neutral_and_contradiction_are_one() -> None:
    network, encoder = network_in_order((1, 2, 0))
    order = label_order(network.config, None, "x")
    merged = predict(network, classes(order, len(TWO_CLASSES)), encoder, PREMISES)
    for row, logits in zip(merged, class_scores(network, encoder), strict=True):
        three, two = softmax(logits), softmax(row.scores)
        assert two == pytest.approx([three[0], three[1] + three[2]], abs=1e-6)


# From judgements to both protocols


def test_every_option_is_judged_as_a_hypothesis_about_its_context() -> None:
    rows = judgements(PAIR, 3)
    assert [(row.id, row.group, row.context, row.hypothesis, row.gold) for row in rows] == [
        ("a/0", "p", "Her word was titanium.", "It holds.", 0),
        ("a/1", "p", "Her word was titanium.", "It breaks.", 2),
        ("b/0", "p", "Her word was a wine glass.", "It holds.", 2),
        ("b/1", "p", "Her word was a wine glass.", "It breaks.", 0),
    ]


def test_what_a_statement_is_implied_by_is_the_premise() -> None:
    item = Item(
        "m",
        "m",
        "The lecture was boring.",
        ("It was a sleeping pill.", "It was short."),
        0,
        {"question": ("implied-by",)},
    )
    assert [(row.context, row.hypothesis) for row in judgements([item], 3, MiQa().premises)] == [
        ("It was a sleeping pill.", "The lecture was boring."),
        ("It was short.", "The lecture was boring."),
    ]


def test_hidden_labels_stay_hidden() -> None:
    assert {row.gold for row in judgements([Item("h", "h", "x", ("y", "z"), None)], 3)} == {None}


def test_the_three_way_protocol_counts_every_judgement() -> None:
    # Entailed and contradicted are right, neutral is wrong whatever the label: 2 of 2 × 2 judgements.
    estimate = accuracy(judged(LOGITS))
    assert estimate is not None
    assert (estimate.value, estimate.n, estimate.chance) == (0.5, 4, pytest.approx(1 / 3))


E = np.e
MINUS = "entail_minus_contradict"
EXPECTED = {
    # P(entailment) − P(contradiction) and its parts, worked by hand from LOGITS; Z is each row's sum of
    # powers.
    ("entail_minus_contradict", "probabilities"): [
        (E**2 - E**-1) / (E**2 + 1 + E**-1),
        (E**-1 - E**2) / (E**2 + 1 + E**-1),
        (E - 1) / (E + E**2 + 1),
        (E**0.5 - 1) / (E**0.5 + E**2 + 1),
    ],
    ("entail", "probabilities"): [
        E**2 / (E**2 + 1 + E**-1),
        E**-1 / (E**2 + 1 + E**-1),
        E / (E + E**2 + 1),
        E**0.5 / (E**0.5 + E**2 + 1),
    ],
    ("not_contradict", "probabilities"): [
        -(E**-1) / (E**2 + 1 + E**-1),
        -(E**2) / (E**2 + 1 + E**-1),
        -1 / (E + E**2 + 1),
        -1 / (E**0.5 + E**2 + 1),
    ],
    ("entail_minus_contradict", "logits"): [3.0, -3.0, 1.0, 0.5],
    ("entail", "logits"): [2.0, -1.0, 1.0, 0.5],
    ("not_contradict", "logits"): [1.0, -2.0, 0.0, 0.0],
}


@pytest.mark.parametrize(("score", "on"), EXPECTED)
def test_scores_worked_by_hand(score: str, on: str) -> None:
    chosen = choices(PAIR, judged(LOGITS), score, on)
    assert [value for row in chosen for value in row.scores] == pytest.approx(EXPECTED[score, on])
    assert [(row.id, row.group, row.gold) for row in chosen] == [("a", "p", 0), ("b", "p", 1)]
    assert chosen[0].attributes == {"commonsense": ("objects",)}


def test_the_forced_choice_is_always_made_where_the_three_way_one_says_neutral() -> None:
    chosen = choices(PAIR, judged(LOGITS), MINUS, "probabilities")
    assert [row.choice for row in chosen] == [0, 0]
    assert accuracy(chosen).value == 0.5  # type: ignore[union-attr]


def test_probabilities_and_logits_may_choose_differently() -> None:
    # Option 0 has the larger odds of entailment to contradiction, option 1 the larger difference of
    # probabilities.
    logits = [(0.0, 9.0, -3.0), (1.0, 0.0, 0.0)]
    item = [PAIR[0]]
    rows = [Prediction("a/0", "p", 0, logits[0]), Prediction("a/1", "p", 2, logits[1])]
    assert choices(item, rows, MINUS, "logits")[0].choice == 0
    assert choices(item, rows, MINUS, "probabilities")[0].choice == 1


def test_contradictions_that_are_nearly_impossible_are_still_told_apart() -> None:
    scores = option_scores(
        np.array([[40.0, 0.0, -10.0], [40.0, 0.0, -11.0]]), "not_contradict", "probabilities"
    )
    assert np.float32(scores[0]) < np.float32(scores[1])


def test_a_two_class_network_has_the_score_it_supports() -> None:
    two = [(2.0, 0.0), (0.0, 1.0), (0.0, 3.0), (1.0, 0.0)]
    chosen = choices(PAIR, judged(two), "entail", "probabilities")
    assert [row.choice for row in chosen] == [0, 1]
    assert chosen[0].scores == pytest.approx([E**2 / (E**2 + 1), 1 / (1 + E)])
    assert {row.options for row in judgements(PAIR, 2)} == {TWO_CLASSES}
    for score in ("entail_minus_contradict", "not_contradict"):
        with pytest.raises(
            FiglangError, match=r"nli\.score=.* needs a class for contradiction.*use nli\.score=entail"
        ):
            choices(PAIR, judged(two), score, "probabilities")


# Reading and training


@pytest.mark.parametrize("score", ["entail", MINUS, "not_contradict"])
@pytest.mark.parametrize("on", ["probabilities", "logits"])
def test_one_of_several_processes_may_have_no_item(score: str, on: str) -> None:
    assert choices([], [], score, on) == []


def test_a_cut_sentence_is_worded_as_it_is() -> None:
    encoder = Encoder(network_in_order((0, 1, 2))[1].tokenizer, "pair", "clean", 80)
    whole = Item("w", "w", "as the", ("key was bent", "lock was bent"), 0)
    cut = Item("c", "c", "as the", ("key was bent", "lock was bent"), 0, cut=True)
    encoded, _ = encoder.encode([whole, cut])
    texts = [encoder.tokenizer.decode(example.sequences[0]) for example in encoded]
    assert texts[0].count(".") == 2
    assert "." not in texts[1]


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0)])
def test_premises_can_be_learnt_by_heart_in_any_order_of_the_outputs(order: tuple[int, ...]) -> None:
    network, encoder = network_in_order(order)
    module = CrossEntropyModule(network.train(), MethodConfig(name="nli"), classes(order), steps=1, seed=0)
    batch = encoder.collate(encoder.encode(PREMISES)[0])
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-3)
    for _ in range(80):
        optimizer.zero_grad()
        module.loss(batch)["loss"].backward()
        optimizer.step()
    assert all(row.correct for row in predict(network, module.score, encoder, PREMISES))
