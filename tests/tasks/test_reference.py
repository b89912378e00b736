"""The published results (figlang/tasks/reference.py) and which of them a run may be set beside."""

import pytest

from figlang.tasks.figqa.published import compare as fig_qa
from figlang.tasks.reference import Comparison
from tests.published import results


def named(comparisons: list[Comparison], model: str, metric: str, **setting: str) -> Comparison:
    (found,) = [
        comparison
        for comparison in comparisons
        if comparison.published.model == model
        and comparison.published.metric == metric
        and setting.items() <= comparison.published.setting.items()
    ]
    return found


def test_every_row_of_the_file_is_there() -> None:
    assert len(results()) == 620


def test_only_the_values_that_nobody_printed_are_blank() -> None:
    blank = [row for row in results() if row.value is None]
    assert len(blank) == 5
    assert all(row.note for row in blank)


def test_a_setting_is_its_keys_and_values() -> None:
    row = next(
        row
        for row in results()
        if row.table == "Table 4" and row.model == "BERT-large" and row.value == 83.16
    )
    assert row.setting == {
        "split": "test",
        "direction": "forward",
        "regime": "finetuned",
        "train": "Tuned(L)=train.csv(1458)",
    }


@pytest.mark.parametrize("benchmark", ["Fig-QA", "MiQA", "MUNCH"])
def test_every_benchmark_has_rows(benchmark: str) -> None:
    assert any(row.benchmark == benchmark for row in results())


def test_percentages_are_percentages() -> None:
    assert all(0 <= row.value <= 100 for row in results() if row.unit == "percent" and row.value is not None)


@pytest.mark.parametrize("split", ["validation", "test", "train"])
def test_no_published_number_is_comparable_with_other_data(split: str) -> None:
    compared = fig_qa("figqa_sample", split, published_data=False)
    assert compared
    assert {(row.comparable, row.reason) for row in compared} == {
        (False, f"measured on the whole {part} part of Fig-QA, not on these items of figqa_sample")
        for part in ("dev", "test")
    }


@pytest.mark.parametrize(("split", "upstream"), [("validation", "dev"), ("test", "test")])
def test_comparable_numbers_are_of_the_same_split(split: str, upstream: str) -> None:
    usable = [
        row.published.setting["split"]
        for row in fig_qa("figqa_medium", split, published_data=True)
        if row.comparable
    ]
    assert usable
    assert set(usable) == {upstream}


def test_a_run_on_dev_is_told_that_the_papers_numbers_are_of_test() -> None:
    compared = named(fig_qa("figqa_medium", "validation", published_data=True), "Human", "accuracy")
    assert (compared.comparable, compared.reason) == (False, "measured on test, this is dev")


def test_nothing_is_comparable_with_a_run_on_training_data() -> None:
    assert not any(row.comparable for row in fig_qa("figqa_medium", "train", published_data=True))


@pytest.mark.parametrize(
    ("model", "metric", "setting", "reason"),
    [
        ("GPT-2", "pair_accuracy", {"regime": "zero-shot"}, "backward pairs, not forward pairs"),
        ("GPT-3 Curie", "pair_accuracy", {"regime": "finetuned"}, "backward pairs, not forward pairs"),
        ("GPT-neo 1.3B", "pair_accuracy", {"regime": "finetuned"}, "a copied cell"),
        (
            "RoBERTa-large (SNLI+MNLI+FEVER+ANLI)",
            "accuracy",
            {"labels": "3-way"},
            "two three-way judgements an item, not a choice",
        ),
    ],
)
def test_a_number_that_is_something_else_is_not_comparable(
    model: str, metric: str, setting: dict[str, str], reason: str
) -> None:
    compared = named(fig_qa("figqa_medium", "test", published_data=True), model, metric, **setting)
    assert (compared.comparable, compared.reason) == (False, reason)


def test_a_number_whose_prompts_held_answers_of_its_split_is_not_comparable() -> None:
    compared = named(
        fig_qa("figqa_medium", "validation", published_data=True), "GPT-3 Davinci", "accuracy", regime="k=3"
    )
    assert (compared.comparable, compared.reason) == (False, "its prompts held answers of the split")


@pytest.mark.parametrize(
    ("model", "metric", "value"),
    [("BERT-large", "pair_accuracy", 70.6), ("Human", "pair_accuracy", 89.7), ("Human", "accuracy", 94.42)],
)
def test_forward_numbers_of_test_are_comparable_with_a_run_on_test(
    model: str, metric: str, value: float
) -> None:
    compared = named(fig_qa("figqa_medium", "test", published_data=True), model, metric)
    assert (compared.comparable, compared.reason, compared.published.value) == (True, "", value)


def test_pair_accuracies_that_count_as_comparable_keep_the_bound() -> None:
    # No forward pair accuracy can be below 2 · accuracy − 1: the backward rows would break it (GPT-neo 10.30
    # < 2 · 56.89 − 100).
    usable = [row.published for row in fig_qa("figqa_medium", "test", published_data=True) if row.comparable]
    best = {row.model: row.value for row in usable if row.metric == "accuracy" and "train" not in row.setting}
    pairs = {row.model: row.value for row in usable if row.metric == "pair_accuracy"}
    shared = best.keys() & pairs.keys()
    assert shared
    assert all(pairs[model] >= 2 * best[model] - 100 for model in shared)


def test_comparable_numbers_come_first() -> None:
    flags = [row.comparable for row in fig_qa("figqa_medium", "test", published_data=True)]
    assert flags == sorted(flags, reverse=True)


@pytest.mark.parametrize("split", ["validation", "test"])
def test_every_other_number_has_a_reason(split: str) -> None:
    assert all(
        row.comparable != bool(row.reason) for row in fig_qa("figqa_medium", split, published_data=True)
    )
