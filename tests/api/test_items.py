"""Items from Python, pandas and `datasets`, and back."""

from typing import Any

import numpy as np
import pandas
import pytest
from datasets import Dataset, DatasetDict

import figlang
from figlang.errors import FiglangError
from figlang.tasks import registry
from figlang.types import Inference, Item, Marked

SAMPLES = ("figqa_sample", "miqa_sample", "munch_sample")
OWN: list[dict[str, Any]] = [
    {
        "context": "Su voz era terciopelo",
        "options": ["Era suave.", "Era áspera.", "Era alta.", "Era triste."],
        "gold": 0,
        "group": "voz",
        "source": "libro",
        "topic": ["voz", "tacto"],
    },
    {
        "context": "Su voz era grava",
        "options": ["Era suave.", "Era áspera.", "Era alta.", "Era triste."],
        "gold": 1,
        "group": "voz",
        "source": "cine",
    },
    {"context": "<b>La casa</b> era un horno", "options": ["Hacía calor.", "Hacía frío."]},
]


@pytest.mark.parametrize("name", SAMPLES)
def test_items_come_back_from_lists_pandas_and_datasets(name: str) -> None:
    items = figlang.load(name, split="dev")
    same = {"task": items.split.task, "question": items.split.question}
    for again in (
        figlang.items(items.to_list(), **same),
        figlang.Items.from_pandas(items.to_pandas(), **same),
        figlang.Items.from_datasets(items.to_datasets(), **same),
    ):
        assert list(again) == list(items)


def test_load_reads_what_the_command_reads() -> None:
    from figlang.config import EvaluateConfig, calling

    config = calling.options("evaluate", EvaluateConfig, ["data=figqa_sample", "split=test", "data.limit=7"])
    items = figlang.load("figqa_sample", split="test", limit=7)
    assert items.split == registry.load("test", config.data, config.paths)
    assert items.name == "figqa_sample"


def test_own_items() -> None:
    items = figlang.items(OWN, name="propio")
    assert items[0] == Item(
        "0",
        "voz",
        "Su voz era terciopelo",
        ("Era suave.", "Era áspera.", "Era alta.", "Era triste."),
        0,
        {"source": ("libro",), "topic": ("voz", "tacto")},
    )
    assert [item.id for item in items] == ["0", "1", "2"]
    assert items[2].gold is None
    assert items[np.int64(2)] is items[2]
    assert items[2].group == "2"
    assert items.split.sha256 != figlang.items(OWN[:2]).split.sha256
    assert items.split.sha256 == figlang.items(OWN, name="otro").split.sha256


def test_a_group_is_a_pair_only_with_the_same_options() -> None:
    """Items about one idiom, each with options of its own, had a pair accuracy."""
    soft, rough = "Era suave.", "Era áspera."
    one = {"context": "Su voz era terciopelo", "options": [soft, rough], "gold": 0, "group": "voz"}
    pair = [one, {**one, "context": "Su voz era grava", "options": [rough, soft], "gold": 0}]
    others = [one, {**one, "context": "Su voz era seda", "options": [soft, "Era alta."]}]
    wider = [one, {**one, "context": "Su voz era grava", "options": [soft, rough, "Era alta."], "gold": 1}]
    assert [item.paired for item in figlang.items(pair)] == [True, True]
    for rows in (others, wider, [one, {**one, "context": "Su voz era seda"}]):
        assert [item.paired for item in figlang.items(rows)] == [False, False]
        assert [item.group for item in figlang.items(rows)] == ["voz", "voz"]
    stated = figlang.items([{**row, "paired": True} for row in others])
    assert [item.paired for item in stated] == [True, True]
    assert figlang.items(stated.to_list()).split.sha256 == stated.split.sha256


def test_a_record_without_a_group_joins_none_that_is_called_like_it() -> None:
    options = ["soft", "rough"]
    rows = [
        {"context": "Velvet", "options": options, "gold": 0, "group": 2},
        {"context": "Gravel", "options": options, "gold": 1, "group": 2},
        {"context": "Lead", "options": options, "gold": 1},
    ]
    own = figlang.items(rows)
    assert [item.group for item in own] == ["2", "2", "2 (alone)"]
    given = [{"id": f"{n}", "gold": 0, "scores": [1, 0], "group": None if n else "1"} for n in range(2)]
    assert [row.group for row in figlang.Predictions.from_list(given)] == ["1", "1 (alone)"]


@pytest.mark.parametrize("rows", [OWN, tuple(OWN), OWN[0], None, 3])
def test_load_says_what_takes_rows(rows: Any) -> None:
    with pytest.raises(FiglangError, match=r"rows of your own: figlang\.items\(rows\)"):
        figlang.load(rows)


def test_premises_and_marked_words() -> None:
    premise = {"context": "It rains.", "hypothesis": "It is wet.", "options": ["yes", "no"], "gold": 0}
    (inference,) = figlang.items([premise])
    assert isinstance(inference, Inference)
    assert inference.hypothesis == "It is wet."
    assert not inference.paired
    (marked,) = figlang.items([{"context": "a sharp tongue", "options": ["x", "y"], "target": [2, 7]}])
    assert isinstance(marked, Marked)
    assert marked.word == "sharp"


def test_a_part_of_items_is_items_and_says_so_in_its_signature() -> None:
    items = figlang.load("figqa_sample")
    part = items[3:9]
    assert list(part) == list(items)[3:9]
    assert part.name == items.name
    assert not part.split.whole
    assert part.split.drawn != items[2:8].split.drawn
    assert not items.split.drawn
    assert items[:].split is items.split
    kept = items.where(commonsense="visual")
    assert 0 < len(kept) < len(items)
    assert all("visual" in item.attributes["commonsense"] for item in kept)
    with pytest.raises(FiglangError, match="no items with commonsense=none_such"):
        items.where(commonsense="none_such")


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"context": "a", "options": "b"}, "record 1: options must be a list"),
        ({"context": "a", "options": ["b"]}, "record 1: options must be a list of at least two texts"),
        ({"context": "a", "options": ["b", " "]}, "record 1: options must be a list of at least two texts"),
        ({"context": "a", "options": ["b", 3]}, "record 1: options must be a list of at least two texts"),
        ({"context": None, "options": ["b", "c"]}, "record 1: context must be text"),
        ({"options": ["b", "c"]}, "record 1 has no context; its keys are options"),
        ({"context": "a", "option": ["b"]}, "record 1 has no options; its keys are context, option"),
        ({}, "record 1 has no options; it is empty"),
        (
            {"context": "a", "options": ["b", "c"], "gold": 2},
            "record 1: gold=2 is not a place among 2 options",
        ),
        ({"context": "a", "options": ["b", "c"], "gold": "b"}, "record 1: gold=b is not a place"),
        ({"context": "a", "options": ["b", "c"], "gold": 0.5}, "record 1: gold=0.5 is not a place"),
        ({"context": "a", "options": ["b", "c"], "id": "0"}, "record 1: the id 0 is that of an earlier one"),
        (
            {"context": "a", "options": ["b", "c", "d"], "group": "g", "paired": True},
            "record 1 has 3 options, but its group g",
        ),
        ("text", "record 1 is str; give a dictionary"),
        *(
            ({"context": "a", "options": ["b", "c"], key: value}, f"record 1: {said}")
            for key, value, said in [
                ("gold", float("inf"), "gold=inf is not a place"),
                ("gold", [0], "gold=[0] is not a place"),
                ("options", {"b", "c"}, "options must be a list"),
                ("options", {"b": 1, "c": 2}, "options must be a list"),
                ("target", [0], "target=[0] is not a place in its context of 1 letters"),
                ("target", [0, 2], "target=[0, 2] is not a place"),
                ("target", ["x", "y"], "target=['x', 'y'] is not a place"),
                ("hypothesis", 3, "hypothesis must be text"),
                ("paired", "False", "paired='False' is not True or False"),
                ("cut", "no", "cut='no' is not True or False"),
            ]
        ),
    ],
)
def test_a_wrong_record_is_named_in_one_line(record: Any, said: str) -> None:
    with pytest.raises(FiglangError) as caught:
        figlang.items([{"context": "x", "options": ["y", "z"], "group": "g"}, record])
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_values_of_pandas_are_missing() -> None:
    frame = pandas.DataFrame(
        {"context": ["a", "b"], "options": [["x", "y"], ["x", "y"]], "gold": [1, None], "kind": ["k", None]}
    )
    first, second = figlang.Items.from_pandas(frame)
    assert (first.gold, second.gold) == (1, None)
    assert first.attributes == {"kind": ("k",)}
    assert second.attributes == {}


def test_other_things_are_refused() -> None:
    with pytest.raises(FiglangError, match="a pandas DataFrame is wanted, not list"):
        figlang.Items.from_pandas(OWN)
    data = DatasetDict(train=Dataset.from_list([{"context": "a", "options": ["b", "c"]}]))
    with pytest.raises(FiglangError, match="one split of a data set is wanted, not DatasetDict"):
        figlang.Items.from_datasets(data)
    assert len(figlang.Items.from_datasets(data["train"])) == 1
    with pytest.raises(FiglangError, match="there are no records"):
        figlang.items([])
    for wrong in (3, OWN[0], None):
        with pytest.raises(FiglangError, match="a list of dictionaries is wanted, not "):
            figlang.items(wrong)  # type: ignore[arg-type]
        with pytest.raises(FiglangError, match="a list of dictionaries is wanted, not "):
            figlang.Predictions.from_list(wrong)  # type: ignore[arg-type]
    with pytest.raises(FiglangError, match="question=none_such is not a question"):
        figlang.items(OWN, question="none_such")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"name": "figqa_smple"}, "did you mean figqa_sample"),
        ({"name": "figqa_sample", "limt": 3}, "did you mean data.limit"),
        ({"name": "figqa_sample", "limit": 0}, "limit"),
        ({"name": "figqa_sample", "split": "tst"}, "split"),
    ],
)
def test_wrong_options_are_refused_in_one_line(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(FiglangError) as caught:
        figlang.load(**asked)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_items_show_themselves() -> None:
    items = figlang.items(OWN, name="propio")
    text, page = repr(items), items._repr_html_()
    assert "propio, validation: 3 items, 1 pair" in text
    assert "terciopelo" in text
    assert "hidden" in text
    assert "&lt;b&gt;La casa" in page
    assert "<b>" not in page
    assert page.count("<tr>") == 4
    assert "and 175 more items" in repr(figlang.load("figqa_sample"))
