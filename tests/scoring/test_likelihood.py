"""Choices from log-probabilities: hand-worked presets, both directions, what is stored."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
import torch

from figlang.config import EvaluateConfig, PromptConfig, ScoringConfig
from figlang.config.composing import compose
from figlang.errors import FiglangError
from figlang.files.stored import MEASURED
from figlang.runs.predictions import records
from figlang.scoring.likelihood import choose
from figlang.scoring.requests import Request
from figlang.scoring.tree.causal import CausalScorer, Scored
from figlang.scoring.wording import Wording
from figlang.statistics.metrics import accuracy, pair_accuracy
from figlang.types import Item
from tests.causal_models import network, tokenizer

HOT = Item("1", "1", "the room was an oven", ("it was hot.", "it was cold."), 0, {"kind": ("heat",)})
COLD = Item("2", "1", "the room was a fridge", ("it was hot.", "it was cold."), 1)
ORPHAN = Item("3", "3", "time crawled", ("it was slow", "it was fast"), 0)


class TableScorer:
    """Scores looked up by (context, continuation): two tokens each, so that sum and mean differ."""

    def __init__(self, table: dict[tuple[str, str], float], default: float = -10.0) -> None:
        self.table = table
        self.default = default
        self.asked: list[Request] = []

    def score(self, requests: Iterable[Request], progress: bool = False) -> Scored:
        self.asked = list(requests)
        values = [
            torch.tensor([self.table.get(tuple(request), self.default) / 2] * 2) for request in self.asked
        ]
        return Scored(values, 0, 0, 0, 0, None)


def preset(name: str) -> ScoringConfig:
    scoring = compose("evaluate", EvaluateConfig, [f"scoring={name}", "model=gpt2"]).scoring
    assert scoring is not None
    return scoring


def worded(scoring: ScoringConfig, **prompt: Any) -> Wording:
    return Wording(scoring, PromptConfig(**prompt))


@pytest.mark.parametrize(("name", "uneven"), [("liu2022", 1), ("gpt3_notebook", 0), ("clean", 0)])
def test_items_are_counted_whose_texts_as_they_are_end_differently(name: str, uneven: int) -> None:
    one_ends = replace(ORPHAN, options=("it was slow", "it was fast. "))
    cut = replace(one_ends, cut=True)
    assert worded(preset(name)).uneven([HOT, ORPHAN, one_ends, cut]) == uneven


@pytest.mark.parametrize("name", ["liu2022", "repo_head", "gpt3_notebook", "clean"])
def test_an_empty_metaphor_leaves_the_answer_alone(name: str) -> None:
    wording = worded(preset(name))
    assert wording.span("", "", "it was hot.") == wording.alone("", "it was hot.")


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        # raw text, ". " between and "." after: a final period is doubled
        ("liu2022", "the room was an oven. it was hot.."),
        ("repo_head", "the room was an oven. it was hot.."),
        # a period where there is none, first letter upper-case
        ("gpt3_notebook", "The room was an oven. It was hot."),
        ("clean", "The room was an oven. It was hot."),
    ],
)
def test_the_strings_of_a_preset(name: str, whole: str) -> None:
    assert worded(preset(name)).whole("", HOT.context, HOT.options[0]) == Request("", whole)


def test_a_suffix_stands_between_metaphor_and_answer() -> None:
    wording = worded(ScoringConfig(), suffix="That is to say, ")
    assert wording.span("", HOT.context, HOT.options[0]) == Request(
        "The room was an oven. That is to say, ", "It was hot."
    )
    lower = worded(ScoringConfig(), suffix="That is to say, ", answer="lower")
    assert lower.span("", HOT.context, HOT.options[0]).continuation == "it was hot."
    assert lower.alone("", HOT.options[0]).continuation == "It was hot.", "by itself an answer is a sentence"


def test_the_suffix_of_the_authors_gpt2_script() -> None:
    # The authors' script: "Phrase. That is to say, The answer." where nothing is stripped or re-cased
    wording = worded(preset("liu2022"), suffix="That is to say, ")
    assert (
        wording.whole("", "Time crawled", "It was slow").continuation
        == "Time crawled. That is to say, It was slow."
    )


def test_a_template_of_ones_own() -> None:
    wording = worded(ScoringConfig(), template="Q: {metaphor} means: {answer} (end)")
    assert wording.span("", "x is y", "a b") == Request("Q: X is y. means: ", "A b. (end)")
    for template in (
        "{metaphor}",
        "{answer} {metaphor}",
        "{metaphor} {answer} {answer}",
        "{metaphor} {answer} {}",
        "{METAPHOR} {answer}",
    ):
        with pytest.raises(
            FiglangError, match=r"must hold \{answer\} once, and before it \{metaphor\} once or not"
        ):
            PromptConfig(template=template)
        with pytest.raises(FiglangError, match=r"scoring\.template"):
            ScoringConfig(template=template)


def test_examples_stand_before_and_are_scored_only_if_asked_for() -> None:
    shown = "A. B.\n"
    assert worded(ScoringConfig()).whole(shown, "x", "y") == Request(shown, "X. Y.")
    assert worded(ScoringConfig(examples=True)).whole(shown, "x", "y") == Request("", "A. B.\nX. Y.")
    assert worded(ScoringConfig()).span(shown, "x", "y") == Request("A. B.\nX. ", "Y.")
    assert worded(ScoringConfig()).alone(shown, "y") == Request(shown, "Y.")


def test_both_metaphors_of_a_backward_choice_get_the_items_own_examples() -> None:
    scorer = TableScorer({})
    choose(scorer, [HOT, COLD], worded(ScoringConfig()), {"1": "one\n", "2": "two\n"})
    contexts = {
        request.context
        for request in scorer.asked
        if request.continuation == "The room was a fridge. It was hot."
    }
    assert contexts == {"one\n", "two\n"}, (
        "the oven's answer is asked of the fridge after the oven's examples"
    )


def test_gpt3_wording_adds_a_period_after_an_exclamation_mark_too() -> None:
    assert worded(ScoringConfig(text="gpt3")).span("", "what a room!", "hot.") == Request(
        "What a room!. ", "Hot."
    )


def test_forward_and_backward_by_hand() -> None:
    # Of the four whole strings, the oven prefers hot; the fridge prefers hot as well (wrong); backward, hot
    # fits the oven better and cold fits the fridge better: forward 1 of 2 and no pair, backward 2 of 2 and
    # the pair.
    scorer = TableScorer(
        {
            ("", "The room was an oven. It was hot."): -4.0,
            ("", "The room was an oven. It was cold."): -9.0,
            ("", "The room was a fridge. It was hot."): -6.0,
            ("", "The room was a fridge. It was cold."): -7.0,
        }
    )
    found = choose(scorer, [HOT, COLD], worded(ScoringConfig()))
    assert [row.scores for row in found.forward] == [(-2.0, -4.5), (-3.0, -3.5)]  # means over two tokens
    assert [row.scores for row in found.backward] == [(-2.0, -3.0), (-4.5, -3.5)]
    assert [row.gold for row in found.backward] == [0, 1]
    assert [row.id for row in found.backward] == ["1", "2"]
    forward, pairs = accuracy(found.forward), pair_accuracy(found.forward)
    assert (forward and forward.value, pairs and pairs.value) == (0.5, 0.0)
    backward, backward_pairs = accuracy(found.backward), pair_accuracy(found.backward)
    assert (backward and backward.value, backward_pairs and backward_pairs.value) == (1.0, 1.0)


def test_backward_has_a_span_of_its_own() -> None:
    rooms, answers = ("The room was an oven.", "The room was a fridge."), ("It was hot.", "It was cold.")
    texts = [(room, answer) for room in rooms for answer in answers]
    whole = {("", f"{room} {answer}"): -10.0 - place for place, (room, answer) in enumerate(texts)}
    alone = {(f"{room} ", answer): -1.0 - place for place, (room, answer) in enumerate(texts)}
    scoring = ScoringConfig(span="whole", backward_span="answer", norm="sum")
    found = choose(TableScorer(whole | alone), [HOT, COLD], worded(scoring))
    assert [row.scores for row in found.forward] == [(-10.0, -11.0), (-12.0, -13.0)]
    assert [row.scores for row in found.backward] == [(-1.0, -3.0), (-2.0, -4.0)]


def test_pmi_takes_the_likelihood_of_the_answer_alone_off() -> None:
    # hot is likelier everywhere; after the fridge it loses more against itself alone than cold does
    scorer = TableScorer(
        {
            ("The room was a fridge. ", "It was hot."): -6.0,
            ("The room was a fridge. ", "It was cold."): -8.0,
            ("", "It was hot."): -5.0,
            ("", "It was cold."): -12.0,
        }
    )
    found = choose(scorer, [COLD], worded(preset("pmi")))
    assert found.forward[0].scores == (-1.0, 4.0)
    plain = choose(scorer, [COLD], worded(ScoringConfig(span="answer", norm="sum")))
    assert plain.forward[0].scores == (-6.0, -8.0)
    mean = choose(scorer, [COLD], worded(preset("prior_corrected")))
    assert mean.forward[0].scores == (-0.5, 2.0)


def test_norms() -> None:
    scorer = TableScorer({}, default=-22.0)
    for norm, expected in (("sum", -22.0), ("mean", -11.0), ("byte", -2.0)):  # "It was hot." has 11 bytes
        scoring = ScoringConfig(span="answer", norm=norm)
        assert choose(scorer, [HOT], worded(scoring)).forward[0].scores[0] == pytest.approx(expected)


def test_items_without_partner_or_label_have_no_backward_prediction() -> None:
    hidden = Item("4", "1", "a", ("b", "c"), None)
    found = choose(TableScorer({}), [ORPHAN, hidden], worded(ScoringConfig()))
    assert found.backward == []
    assert len(found.forward) == 2


def test_every_string_is_asked_for_once_and_kept() -> None:
    scorer = TableScorer({})
    found = choose(scorer, [HOT, COLD], worded(ScoringConfig()))
    # Whole, answer, answers alone, metaphors alone.
    assert len(scorer.asked) == len(set(scorer.asked)) == 4 + 4 + 2 + 2
    assert found.measured[0]["id"] == "1"
    assert len(found.measured[0]["answer_alone"]) == 2
    assert found.measured[0]["metaphor_alone"] == (-10.0, 2, len("The room was an oven."))


def test_what_cannot_be_scored_is_refused_by_the_name_of_its_item() -> None:
    scorer = CausalScorer(network("gpt2", max_position_embeddings=64), tokenizer())
    long = Item("dev-5", "3", "time crawled", ("it was slow", "it was fast " * 20), 0)
    with pytest.raises(
        FiglangError, match=r"item dev-5: request \d+ \('Time crawled\. It was fast.* has \d+ tokens"
    ):
        choose(scorer, [HOT, COLD, long], worded(preset("clean")))


class Refusing(TableScorer):
    """An endpoint whose content filter refuses one text."""

    text = ""

    def score(self, requests: Iterable[Request], progress: bool = False) -> Scored:
        found = super().score(requests, progress)
        values = [
            torch.tensor([] if request.context + request.continuation == self.text else [-1.0 - place**2 / 7])
            for place, request in enumerate(self.asked)
        ]
        return replace(found, log_probs=values)


@pytest.mark.parametrize("name", ["clean", "pmi", "liu2022"])
def test_a_refused_text_counts_for_the_choices_that_need_it_and_for_no_other(name: str) -> None:
    scorer, wording = Refusing({}), worded(preset(name))
    choose(scorer, [HOT, COLD], wording)
    texts = dict.fromkeys(request.context + request.continuation for request in scorer.asked)
    counted = set()
    for scorer.text in texts:
        found = choose(scorer, [HOT, COLD], wording)
        assert found.blind is not None
        for row, choice, blind in zip(found.measured, found.forward, found.blind, strict=True):
            assert row.get("refused", False) == (set(choice.scores) == {0.0})
            assert row.get("refused_blind", False) == (set(blind.scores) == {0.0})
            assert MEASURED.validate_json(next(records([row])))
            counted.add((row.get("refused", False), row.get("refused_blind", False)))
    # What is hidden is the answer alone, which the choice needs only where it is subtracted.
    assert counted == {(False, False), (True, False), (name == "pmi", True)}
