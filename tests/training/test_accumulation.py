"""A step in parts has the loss and the gradient of the whole batch, in fewer bytes at a time."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from figlang.config import MethodConfig, TrainConfig
from figlang.config.composing import compose
from figlang.errors import FiglangError
from figlang.training.accumulation import Parts, Uncut
from figlang.training.base import SELECTION, SELECTION_ACCURACY
from figlang.training.cross_entropy import CrossEntropyModule
from figlang.training.datamodule import ChoiceData
from figlang.training.trainer import built
from tests.running import train

WIDTH = 3


class Example:
    """A vector with a gold class."""

    def __init__(self, position: int) -> None:
        draw = torch.Generator().manual_seed(position)
        self.position, self.gold = position, position % WIDTH
        self.features = torch.randn(4, generator=draw)
        self.sequences: Sequence[Any] = [range(1 + position % 5)]
        self.longest = len(self.sequences[0])


def collate(examples: Sequence[Example]) -> Any:
    return SimpleNamespace(
        teacher=None,
        features=torch.stack([example.features for example in examples]),
        gold=torch.tensor([example.gold for example in examples]),
        positions=[example.position for example in examples],
    )


def score(network: nn.Module, batch: Any) -> Tensor:
    scores: Tensor = network(batch.features)
    return scores


class Watched(CrossEntropyModule):
    """Keeps the gradient of every step."""

    def on_before_optimizer_step(self, *_: Any) -> None:
        self.seen = [*getattr(self, "seen", []), self.network.weight.grad.clone()]  # type: ignore[union-attr, operator]


def scarce(most: int, sizes: list[int], training: bool) -> Callable[[nn.Module, Any], Tensor]:
    """Scores, for which memory is enough up to so many items. `sizes` gets those that were tried."""

    def scored(network: nn.Module, batch: Any) -> Tensor:
        if network.training is training:
            sizes.append(len(batch.gold))
            if len(batch.gold) > most:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        return score(network, batch)

    return scored


def fitted(
    tmp_path: Path,
    accumulate: str,
    scored: Callable[[nn.Module, Any], Tensor] = score,
    items: int = 21,
    selecting: int = 0,
) -> Watched:
    """Two epochs over items in steps of eight."""
    torch.manual_seed(0)
    network = nn.Linear(4, WIDTH)
    method = MethodConfig(accumulate=accumulate, lr=0.05, warmup=0.0)
    module = Watched(network, method, scored, 6, 0)
    examples = [Example(position) for position in range(items)]
    data = ChoiceData(
        collate, examples, examples[:9], examples[:selecting], 8, None, 0, uncut=accumulate != "1"
    )
    trainer = built(
        accelerator="cpu",
        max_epochs=2,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        default_root_dir=tmp_path,
        use_distributed_sampler=False,
    )
    trainer.fit(module, datamodule=data)
    return module


@pytest.mark.filterwarnings("ignore")  # Lightning's advice on workers
@pytest.mark.parametrize("parts", ["2", "3", "8", "100"])
def test_gradients_and_weights_are_those_of_the_whole_batch(tmp_path: Path, parts: str) -> None:
    whole, cut = fitted(tmp_path, "1"), fitted(tmp_path, parts)
    assert len(whole.seen) == len(cut.seen) == 6
    for one, other in zip(whole.seen, cut.seen, strict=True):
        torch.testing.assert_close(one, other)
    torch.testing.assert_close(whole.network.weight, cut.network.weight)


@pytest.mark.filterwarnings("ignore")
def test_auto_cuts_until_memory_is_enough_and_keeps_the_gradient(tmp_path: Path) -> None:
    sizes: list[int] = []
    whole, cut = fitted(tmp_path, "1"), fitted(tmp_path, "auto", scarce(2, sizes, training=True))
    assert cut.parts.count == 4
    assert sizes[:3] == [8, 4, 2]
    assert max(sizes[3:]) == 2  # what was found is kept
    for one, other in zip(whole.seen, cut.seen, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.filterwarnings("ignore")
def test_a_lack_of_memory_of_a_single_item_is_not_repeated(tmp_path: Path) -> None:
    def never(network: nn.Module, batch: Any) -> Tensor:
        raise torch.OutOfMemoryError("out of memory")

    with pytest.raises(torch.OutOfMemoryError):
        fitted(tmp_path, "auto", never)


@pytest.mark.filterwarnings("ignore")
def test_a_validation_reads_fewer_items_together_if_memory_is_not_enough(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sizes: list[int] = []
    short = scarce(4, sizes, training=False)
    whole, fewer = fitted(tmp_path, "1", selecting=7), fitted(tmp_path, "1", short, selecting=7)
    # At most 32, 16 and 8 of 9 items are too many. Then come 7 items that select.
    assert sizes[:8] == [9, 9, 8, 4, 4, 1, 4, 3]
    assert max(sizes[3:]) == 4, "what was found is kept"
    said = "memory is not enough; from now on at most 4 validation items are read together"
    assert said in caplog.messages
    for name in (SELECTION, SELECTION_ACCURACY):
        measured = fewer.trainer.callback_metrics[name]
        torch.testing.assert_close(whole.trainer.callback_metrics[name], measured)


def test_parts_are_of_neighbours_and_nearly_equal() -> None:
    assert [list(part) for part in Uncut(range(7)).cut(3)] == [[0, 1], [2, 3], [4, 5, 6]]
    assert [list(part) for part in Uncut(range(2)).cut(5)] == [[0], [1]]


def test_other_errors_are_not_repeated() -> None:
    def broken(_: int) -> None:
        raise RuntimeError("shapes do not fit")

    with pytest.raises(RuntimeError, match="shapes"):
        Parts("auto").tried(broken, 8, lambda _: None)


@pytest.mark.parametrize("wrong", ["0", "-1", "two", "1.5", ""])
def test_a_wrong_number_of_parts_is_refused(wrong: str) -> None:
    with pytest.raises(FiglangError, match="must be auto or a whole number above 0"):
        MethodConfig(accumulate=wrong)


def test_every_way_of_training_counts_the_cases_of_its_loss(tmp_path: Path) -> None:
    """A run in parts ends with the weights of one without, if there is no dropout (a causal network)."""
    logs = []
    for method in ("lm", "contrastive"):
        for parts in ("1", "3"):
            result = train(
                tmp_path,
                "model=smollm2",
                f"method={method}",
                "method.lr=0.001",
                "method.epochs=1",
                f"method.accumulate={parts}",
                "method.batch_size=6",
                f"run=runs/{method}{parts}/seed0",
            )
            assert result.returncode == 0, result.stderr
            rows = (tmp_path / f"runs/{method}{parts}/seed0/log.csv").read_text().splitlines()[1:]
            logs.append([row.split(",") for row in rows])
    for whole, cut in (logs[:2], logs[2:]):
        for one, other in zip(whole, cut, strict=True):
            assert one[:4] == other[:4]
            assert float(one[4]) == pytest.approx(float(other[4]), rel=1e-4)


def test_a_batch_size_of_auto_keeps_the_presets_size(tmp_path: Path) -> None:
    result = train(tmp_path, "method.batch_size=auto", "method.epochs=1", "run=runs/a/seed0")
    assert result.returncode == 0, result.stderr
    text = (tmp_path / "runs/a/seed0/config.yaml").read_text()
    assert "accumulate: auto" in text
    assert "batch_size: 16" in text  # of minilm


@pytest.mark.parametrize(("card", "again"), [("gpu_24gb", None), ("gpu_80gb", False)])
def test_presets_of_cards_cut_steps_by_themselves(card: str, again: bool | None) -> None:
    config = compose("train", TrainConfig, ["model=smollm2", f"trainer={card}"])
    assert (config.trainer.accelerator, config.trainer.precision) == ("gpu", "bf16-mixed")
    assert (config.method.accumulate, config.method.checkpointing) == ("auto", again)


def test_a_number_of_parts_that_was_set_is_kept() -> None:
    def scarce_step(count: int) -> None:
        raise MemoryError(f"{count} parts")

    parts = Parts("2")
    with pytest.raises(MemoryError, match="2 parts"):
        parts.tried(scarce_step, 8, lambda _: pytest.fail("it was tried again"))
    assert parts.count == 2


@pytest.mark.parametrize(("repeated", "counts", "others"), [(False, 1.0, 6.0), (True, 0.0, 6.0)])
def test_parts_of_several_processes_are_weighted_by_the_cases_of_all(
    repeated: bool, counts: float, others: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one of two processes has 6 cases. A share that repeats another one counts as 0 cases."""
    reduced: list[float] = []

    def all_reduce(value: Tensor) -> None:
        reduced.append(float(value))
        if len(reduced) == 1:  # the number of cases; the second is the mean
            value += others

    monkeypatch.setattr("figlang.training.base.distributed.all_reduce", all_reduce)
    backward: list[float] = []
    trainer = SimpleNamespace(
        world_size=2,
        optimizers=[SimpleNamespace(zero_grad=lambda: None)],
        strategy=SimpleNamespace(
            batch_to_device=lambda batch: batch, backward=lambda loss, _: backward.append(float(loss))
        ),
        datamodule=SimpleNamespace(
            collate=lambda part: SimpleNamespace(losses=torch.tensor(part), positions=part),
            buckets=SimpleNamespace(repeats=lambda index: repeated),
        ),
    )
    module: Any = SimpleNamespace(
        trainer=trainer,
        device="cpu",
        cases=lambda batch: len(batch.losses),
        loss=lambda batch: {"loss": batch.losses.mean()},
        _sound=lambda result, positions: result,
    )
    found = CrossEntropyModule._in_parts(module, [[1.0, 2.0], [6.0]], 0)
    # Losses of 1, 2 and 6 over all cases, times two processes, over which gradients are averaged.
    total = 3 * counts + others
    assert reduced == pytest.approx([3 * counts, 9 * counts / total])
    assert float(found["loss"]) == pytest.approx(2 * 9 * counts / total)
    # Lightning goes back through the last part, so that gradients are averaged once.
    assert backward == pytest.approx([2 * 3 * counts / total])
