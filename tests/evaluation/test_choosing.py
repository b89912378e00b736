"""Laws of figlang/evaluation/choosing.py: predictions in the order of the items, and a file that holds all
there is to know."""

import json
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from figlang.errors import FiglangError
from figlang.evaluation.choosing import encode_all, predict, prediction
from figlang.runs.predictions import read_predictions, write_predictions
from figlang.scoring.encode import Batch, Encoded
from figlang.statistics.metrics import measure
from figlang.types import Item, Prediction

ROWS = [
    Prediction("1", "a", 0, (0.1, -2.5), {"commonsense": ("objects", "social")}),
    Prediction("2", "a", 1, (1 / 3, 2 / 3), {}),
    Prediction("3", "b", None, (1e-30, 1e30), {"genre": ()}),
    Prediction("4", "c", 0, (1.0, 0.0), paired=False),
    Prediction("5", "c", 0, (0.0, 1.0), paired=False),
]


def line(**changes: object) -> str:
    return json.dumps(
        {"id": "9", "group": "9", "gold": 0, "scores": [1.0, 0.0], "attributes": {}, "choice": 0} | changes
    )


# The file


def test_predictions_come_back_from_their_file_to_the_last_digit(tmp_path: Path) -> None:
    write_predictions(tmp_path / "predictions.jsonl", ROWS)
    assert read_predictions(tmp_path / "predictions.jsonl") == ROWS


def test_the_file_alone_reproduces_the_metrics(tmp_path: Path) -> None:
    write_predictions(tmp_path / "predictions.jsonl", ROWS)
    measured = measure(read_predictions(tmp_path / "predictions.jsonl"))
    assert measured == measure(ROWS)
    assert measured["pair_accuracy"]["n"] == 1, "the last two are of one group, and no pair"


def test_a_line_says_what_was_chosen(tmp_path: Path) -> None:
    write_predictions(tmp_path / "predictions.jsonl", [*ROWS, Prediction("6", "b", 0, (1.0, 1.0))])
    lines = (tmp_path / "predictions.jsonl").read_text().splitlines()
    assert [json.loads(text)["choice"] for text in lines] == [0, 1, 1, 0, 1, None]


@pytest.mark.parametrize(
    "name", ["naïve 🙂", "line\u2028separator", "next\x85line", "tab\tand\nbreak", 'quo"te']
)
def test_any_text_may_be_an_id(tmp_path: Path, name: str) -> None:
    rows = [Prediction(name, name, 0, (1.0, 0.0), {name: (name,)})]
    write_predictions(tmp_path / "predictions.jsonl", rows)
    assert read_predictions(tmp_path / "predictions.jsonl") == rows


def test_writing_leaves_one_file(tmp_path: Path) -> None:
    write_predictions(tmp_path / "predictions.jsonl", ROWS)
    assert [path.name for path in tmp_path.iterdir()] == ["predictions.jsonl"]


def test_a_file_that_is_being_written_does_not_have_the_name(tmp_path: Path) -> None:
    path = tmp_path / "predictions.jsonl"
    write_predictions(path, ROWS)

    def rows() -> object:
        yield ROWS[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_predictions(path, rows())
    assert read_predictions(path) == ROWS


def test_a_row_whose_id_came_before_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "predictions.jsonl"
    write_predictions(path, [*ROWS, ROWS[0], ROWS[1]])
    with pytest.raises(
        FiglangError, match=f"line {len(ROWS) + 1} has the id {ROWS[0].id} of an earlier line"
    ):
        read_predictions(path)


def test_a_file_with_crlf_line_ends_is_read(tmp_path: Path) -> None:
    (tmp_path / "predictions.jsonl").write_bytes(f"{line(id='1')}\r\n{line(id='2')}\r\n".encode())
    assert [row.id for row in read_predictions(tmp_path / "predictions.jsonl")] == ["1", "2"]


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(line()[:-5], id="cut off"),
        pytest.param("", id="blank"),
        pytest.param("[1, 2]", id="not an object"),
        pytest.param(json.dumps({"id": "9", "scores": [1, 0]}), id="fields missing"),
        pytest.param(line(scores=[]), id="no scores"),
        pytest.param(line(scores=["high", "low"]), id="scores in words"),
        pytest.param(line(scores=None), id="scores null"),
        pytest.param(line(attributes=[]), id="attributes a list"),
        pytest.param(line(gold=2), id="gold beyond the options"),
        pytest.param(line(gold=-1), id="gold below the options"),
        pytest.param(line(gold="0"), id="gold in quotes"),
    ],
)
def test_a_line_that_is_no_prediction_is_named(tmp_path: Path, bad: str) -> None:
    path = tmp_path / "predictions.jsonl"
    path.write_text(f"{line(id='1')}\n{bad}\n{line(id='3')}\n")
    with pytest.raises(FiglangError) as error:
        read_predictions(path)
    assert str(error.value).startswith(f"{path}: line 2 is not a prediction")
    assert "evaluate again" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_in_another_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "predictions.jsonl"
    path.write_bytes(line(id="1").encode() + b"\n" + b'{"id": "caf\xe9"}\n')
    with pytest.raises(FiglangError, match="is not a prediction") as error:
        read_predictions(path)
    assert str(error.value).startswith(f"{path}: line 2")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FiglangError, match="no predictions file") as error:
        read_predictions(tmp_path / "predictions.jsonl")
    assert str(tmp_path / "predictions.jsonl") in str(error.value)


# From network to predictions


class Letters:
    """An encoder whose tokens are the letters of the context; `truncated` sequences are too long."""

    max_length = 7

    def __init__(self, truncated: int = 0) -> None:
        self.truncated = truncated

    def encode(self, items: list[Item]) -> tuple[list[Encoded], int]:
        encoded = [
            Encoded(place, 0, (list(map(ord, item.context)),), None, (0, 0), None)
            for place, item in enumerate(items)
        ]
        return encoded, self.truncated

    def collate(self, batch: list[Encoded]) -> Batch:
        lengths = torch.tensor([[float(example.longest)] for example in batch])
        positions = [example.position for example in batch]
        return Batch(
            {"lengths": lengths}, torch.zeros(len(batch), 2), None, torch.zeros(len(batch)), positions
        )


class Same(nn.Module):
    """A network with a parameter (it is on a device) that gives what it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.unused = nn.Parameter(torch.zeros(1))

    def forward(self, values: Tensor) -> Tensor:
        return values


def by_length(network: nn.Module, batch: Batch) -> Tensor:
    """Scores (B, 3): the length of the context, its negative, and one place more than the items have
    options."""
    lengths = network(batch.inputs["lengths"])
    return torch.cat([lengths, -lengths, torch.full_like(lengths, -torch.inf)], 1)


def items(*contexts: str) -> list[Item]:
    return [
        Item(f"i{place}", "g", context, ("x", "y"), 0, {"kind": ("k",)})
        for place, context in enumerate(contexts)
    ]


@pytest.mark.parametrize("batch_size", [1, 2, 64])
def test_predictions_are_in_the_order_of_the_items(batch_size: int) -> None:
    found = predict(Same(), by_length, Letters(), items("aaa", "a", "aaaaa", "aa"), batch_size)
    assert [(row.id, row.scores[0]) for row in found] == [("i0", 3.0), ("i1", 1.0), ("i2", 5.0), ("i3", 2.0)]


def test_batches_for_which_memory_lacks_are_halved_and_no_prediction_changes() -> None:
    sizes = []

    def scarce(network: nn.Module, batch: Batch) -> Tensor:
        sizes.append(len(batch.positions))
        if len(batch.positions) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return by_length(network, batch)

    asked = items("aaa", "a", "aaaaa", "aa", "aaaa")
    found = predict(Same(), scarce, Letters(), asked, 8)
    assert found == predict(Same(), by_length, Letters(), asked)
    assert sizes == [5, 4, 2, 2, 1]


def test_dropout_is_off_while_scoring() -> None:
    network = nn.Sequential(nn.Linear(1, 1), nn.Dropout(0.5)).train()
    modes = []

    def score(network: nn.Module, batch: Batch) -> Tensor:
        modes.append((network.training, torch.is_grad_enabled()))
        return torch.zeros(len(batch.positions), 2)

    predict(network, score, Letters(), items("a"))
    assert modes == [(False, False)]


def test_places_beyond_the_options_of_an_item_are_dropped() -> None:
    assert prediction(items("a")[0], torch.tensor([1.0, 2.0, -torch.inf])).scores == (1.0, 2.0)


def test_a_prediction_carries_what_the_item_says_of_itself() -> None:
    item = items("a")[0]
    row = prediction(item, torch.tensor([1.0, 2.0]))
    assert (row.id, row.group, row.gold, row.attributes) == (item.id, item.group, item.gold, item.attributes)


def test_truncated_sequences_are_counted_in_a_note() -> None:
    assert encode_all(Letters(3), items("a"))[1] == [
        "3 sequences were truncated to model.max_length=7 tokens"
    ]


def test_no_truncation_is_no_note() -> None:
    assert encode_all(Letters(), items("a"))[1] == []
