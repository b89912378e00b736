"""Names of systems from Python."""

import pytest

import figlang
from figlang.errors import FiglangError


def test_predictions_are_named_where_they_are_made_and_in_a_comparison() -> None:
    items = figlang.load("figqa_sample", limit=6)
    model = figlang.open_model("minilm", init="tiny")
    first, second = model.predict(items, name="first"), model.predict(items, name="second")
    assert figlang.compare(first, second).names == ("first", "second")
    assert figlang.compare(first, second, rename={"first": "one"}).names == ("one", "second")
    with pytest.raises(FiglangError, match="no system is called third"):
        figlang.compare(first, second, rename={"third": "x"})
    with pytest.raises(FiglangError, match="give two systems or more"):
        figlang.compare(first)


def test_fields_of_an_item_are_not_attributes_of_its_prediction() -> None:
    row = {"id": "a", "context": "x", "options": ["y", "z"], "scores": [1, 2], "gold": 1, "kind": "k"}
    (made,) = figlang.Predictions.from_list([row])
    assert made.attributes == {"kind": ("k",)}
