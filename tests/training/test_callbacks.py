"""The health of a training: what is found, and that a healthy one is left in peace."""

import logging
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from figlang.errors import FiglangError
from figlang.training.callbacks import Health, History
from figlang.types import Item

LOGGER = logging.getLogger("figlang.test")


def health(tmp_path: Path, head: list[nn.Parameter], accuracy: float = 0.9, seen: int = 200) -> Health:
    history = History(tmp_path / "log.csv", (), LOGGER)
    history.train_accuracy, history.seen = accuracy, seen
    return Health(history, 0.5, head, LOGGER)


def trainer(epoch: int = 0) -> Any:
    return SimpleNamespace(current_epoch=epoch, is_global_zero=True)


def steps(number: int) -> Any:
    """A fit of so many steps in the first of its three epochs, at its one optimizer's rate of 0.5."""
    return SimpleNamespace(
        current_epoch=0,
        max_epochs=3,
        num_training_batches=9,
        is_global_zero=True,
        global_step=1,
        estimated_stepping_batches=number,
        optimizers=[SimpleNamespace(param_groups=[{"lr": 0.5}])],
        loggers=[],
    )


def codes(watch: Health) -> list[str]:
    return [finding["code"] for finding in watch.findings]


@pytest.mark.parametrize(
    ("p", "training", "found"), [(0.1, True, []), (0.0, True, ["dropout_off"]), (0.1, False, ["dropout_off"])]
)
def test_dropout_that_is_off_is_found(tmp_path: Path, p: float, training: bool, found: list[str]) -> None:
    watch = health(tmp_path, [])
    watch.on_train_batch_start(
        trainer(), nn.Sequential(nn.Linear(2, 2), nn.Dropout(p)).train(training), None, 0
    )  # type: ignore[arg-type]
    assert codes(watch) == found


def test_a_head_that_does_not_change_is_found(tmp_path: Path) -> None:
    weight, bias = nn.Parameter(torch.ones(2)), nn.Parameter(torch.zeros(1))
    module: Any = nn.Module()
    module.weight, module.bias, module.other = weight, bias, nn.Parameter(torch.ones(1))
    watch = health(tmp_path, [weight, bias])
    watch.setup(trainer(), module, "fit")
    watch.on_train_start(trainer(), module)
    watch.on_train_epoch_end(trainer(0), module)
    assert codes(watch) == ["head_frozen"]
    with torch.no_grad():
        weight.add_(1)
    watch.on_train_epoch_end(trainer(1), module)
    assert codes(watch) == ["head_frozen"], "a bias common to all options has no gradient and is no alarm"


@pytest.mark.parametrize(
    ("accuracy", "seen", "collapsed"),
    # Exact two-sided binomial against 0.5: 100 of 200 has p = 1 and the interval 42.9 – 57.1. 110 of 200 has
    # p = 0.18, but its interval reaches 62, which a training that works can have. 130 of 200 has p < 0.0001,
    # and 70 of 200 is not chance either. 7 of 13 says nothing.
    [(0.5, 200, True), (0.55, 200, False), (0.65, 200, False), (0.35, 200, False), (7 / 13, 13, False)],
)
def test_a_training_at_chance_is_found(tmp_path: Path, accuracy: float, seen: int, collapsed: bool) -> None:
    watch = health(tmp_path, [], accuracy, seen)
    watch.on_train_start(trainer(), nn.Identity())  # type: ignore[arg-type]
    watch.on_train_epoch_end(trainer(2), nn.Identity())  # type: ignore[arg-type]
    assert codes(watch) == (["collapsed"] if collapsed else [])
    assert all(finding["epoch"] == 3 for finding in watch.findings)


def test_validation_scores_that_are_not_numbers_stop_the_training(tmp_path: Path) -> None:
    items = (Item("a", "g", "the tale", ("ran", "sat"), 0), Item("b", "g", "the tail", ("ran", "sat"), 1))
    history = History(tmp_path / "log.csv", items, LOGGER)
    fit: Any = SimpleNamespace(current_epoch=1, sanity_checking=False, global_step=7)
    history.on_validation_epoch_start(fit, nn.Identity())  # type: ignore[arg-type]
    outputs = {"positions": [0, 1], "rows": [torch.tensor([0.0, 1.0]), torch.tensor([torch.nan, torch.nan])]}
    history.on_validation_batch_end(fit, nn.Identity(), outputs, None)  # type: ignore[arg-type]
    with pytest.raises(
        FiglangError,
        match=r"^validation after epoch 2: item b: the score of option 1 is nan, .*lower method.lr",
    ):
        history.on_validation_epoch_end(fit, nn.Identity())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ([0.5, 0.5], "dev accuracy 50.0 %, dev ties 50.0 % (a tie is wrong)"),
        ([0.5, 0.25], "dev accuracy 50.0 %"),
    ],
)
def test_ties_in_validation_are_told_with_the_accuracy(
    tmp_path: Path, second: list[float], said: str
) -> None:
    items = (Item("a", "a", "the tale", ("ran", "sat"), 1), Item("b", "b", "the tail", ("ran", "sat"), 1))
    history = History(tmp_path / "log.csv", items, LOGGER, "dev")
    fit: Any = SimpleNamespace(current_epoch=1, sanity_checking=False, global_step=7)
    module: Any = SimpleNamespace(log=lambda *_, **__: None)
    # An earlier epoch is not what the line is about.
    for rows in ([[0.5, 0.5], [0.5, 0.5]], [[0.0, 1.0], second]):
        history.on_validation_epoch_start(fit, module)
        outputs = {"positions": [0, 1], "rows": [torch.tensor(row) for row in rows]}
        history.on_validation_batch_end(fit, module, outputs, None)
        history.on_validation_epoch_end(fit, module)
    assert history._latest() == said


def test_findings_survive_a_checkpoint(tmp_path: Path) -> None:
    watch = health(tmp_path, [], 0.5, 200)
    watch.on_train_epoch_end(trainer(), nn.Identity())  # type: ignore[arg-type]
    again = health(tmp_path, [])
    again.load_state_dict(watch.state_dict())
    assert codes(again) == ["collapsed"]


def test_the_time_of_validation_is_kept_apart_and_in_the_state(tmp_path: Path) -> None:
    history = History(tmp_path / "log.csv", (), LOGGER)
    checked: Any = SimpleNamespace(sanity_checking=False)
    history.on_validation_epoch_start(checked, checked)
    time.sleep(0.01)
    history.on_validation_epoch_end(checked, checked)
    assert history.validating >= 0.01
    again = History(tmp_path / "log.csv", (), LOGGER)
    again.load_state_dict(history.state_dict())
    assert again.validating == history.validating


def test_the_time_of_an_epoch_before_a_signal_is_in_the_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 1.0, 8.0, 100.0, 102.0])
    monkeypatch.setattr("figlang.training.callbacks.perf_counter", lambda: next(clock))
    fit: Any = SimpleNamespace(
        current_epoch=0, max_epochs=1, global_step=9, is_global_zero=True, callback_metrics={}
    )
    module: Any = SimpleNamespace(device="cpu", log=lambda *_, **__: None)
    history, resumed = (History(tmp_path / "log.csv", (), LOGGER) for _ in range(2))
    history.on_train_start(fit, module)  # at 0
    history.on_train_epoch_start(fit, module)  # at 1
    resumed.load_state_dict(history.state_dict())  # at 8
    resumed.on_train_start(fit, module)  # at 100; a resumed epoch has no start
    for metric in resumed._epoch:
        metric.update(1)
    resumed.on_train_epoch_end(fit, module)  # at 102
    assert resumed.seconds == 7 + 2
    assert resumed.state_dict()["seconds"] == 9, "between epochs no time passes"


def test_a_long_epoch_says_how_far_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("INFO")
    clock = iter([0.0, 30.0, 59.0, 61.0, 61.0, 100.0, 122.0, 122.0])
    monkeypatch.setattr("figlang.training.callbacks.perf_counter", lambda: next(clock))
    history = History(tmp_path / "log.csv", (), LOGGER)
    fit, module = steps(5000), SimpleNamespace(device="cpu")
    history.on_train_start(fit, module)
    loss = {"mean": torch.tensor(0.25), "cases": torch.tensor(4)}
    for index in range(5):
        history.on_train_batch_end(fit, module, loss, None, index)
    lines = [message for message in caplog.messages if "step" in message]
    assert lines == ["epoch 1 of 3, step 3 of 9: loss 0.250", "epoch 1 of 3, step 5 of 9: loss 0.250"]


def test_the_logged_rate_is_the_one_that_the_step_used(tmp_path: Path) -> None:
    history = History(tmp_path / "log.csv", (), LOGGER)
    fit, module = steps(10), SimpleNamespace(device="cpu")
    history.on_train_start(fit, module)
    history.on_train_batch_start(fit, module, None, 0)
    fit.optimizers[0].param_groups[0]["lr"] = 0.25  # the schedule steps before the end of the batch is told
    history.on_train_batch_end(fit, module, {"mean": torch.tensor(0.1), "cases": torch.tensor(1)}, None, 0)
    assert (1, 0, "train", "lr", 0.5) in history.rows


def test_an_epoch_is_told_in_the_units_of_the_tables(tmp_path: Path) -> None:
    history = History(tmp_path / "log.csv", (), LOGGER, "dev")
    values = {
        ("train", "loss"): 0.8004,
        ("train", "accuracy"): 0.615,
        ("selection", "loss"): 0.7,
        ("selection", "accuracy"): 0.55,
        ("validation", "accuracy"): 0.5871,
        ("validation", "pair_accuracy"): 0.2011,
    }
    history.rows = [(7, 0, *named, 0.1) for named in values] + [
        (9, 1, *named, value) for named, value in values.items()
    ]
    assert history._latest() == (
        "train loss 0.800, train accuracy 61.5 %, held-out loss 0.700, held-out accuracy 55.0 %, "
        "dev accuracy 58.7 %, dev pair accuracy 20.1 %"
    )
