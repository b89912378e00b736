"""Short names of systems that are shown together."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from types import FrameType
from typing import Any

import pytest

from figlang.config import CompareConfig, ReportConfig
from figlang.config.roots import ROOTS
from figlang.config.words import readable
from figlang.errors import FiglangError
from figlang.runs import names, spelled, systems

ROOT = Path(__file__).parents[2]
FACTS = {"method": "contrastive+lora", "scoring": "dual(scale=20)", "norm": "none", "prompt": "none"}


@dataclass(frozen=True)
class One:
    content: Mapping[str, Any]
    folder: Path = Path("runs/a")
    seed: int | None = None
    name: str = field(default="a")
    settings: Mapping[str, str] = field(default_factory=dict)


def one(model: str, trained: str, command: str = "", **facts: str) -> One:
    content = {"model": model, "facts": {**FACTS, "trained": trained, **facts}, "command": command}
    return One(content, Path(f"runs/{model}/{trained}/{len(facts)}{command}"))


def test_the_released_checkpoints_have_names_that_people_would_give() -> None:
    folders = sorted(str(path.parent) for path in (ROOT / "checkpoints").glob("*/predictions.jsonl"))
    assert [one.name for one in systems.read(folders)] == [
        "MiniLM, distilled",
        "MiniLM",
        "MiniLM, multi-task",
        "MPNet, 0.25 × start + 0.75 × mean of 5 seeds",
        "MPNet, mean of 5 seeds",
        "SmolLM2, anchored loss, answer",
        "SmolLM2, anchored loss, pmi",
        "SmolLM2",
        "SmolLM2, LM loss",
        "SmolLM2, anchored loss, 0.6 × run 1 + 0.2 × run 2 + 0.2 × run 3",
        "SmolLM2, multi-task",
    ]


@pytest.mark.parametrize(
    ("shown", "wanted"),
    [
        ([one("minilm", "figqa_large@1")], ["MiniLM"]),
        (
            [one("minilm", "figqa_large@1"), one("minilm", "nothing@none", method="none")],
            ["MiniLM", "MiniLM, untrained"],
        ),
        (
            [one("minilm", "figqa_small@1"), one("minilm", "figqa_medium@1")],
            ["MiniLM, Fig-QA S", "MiniLM, Fig-QA L"],
        ),
        (
            [one("smollm2", "figqa_large@1", scoring=each) for each in ("clean(a=1)", "pmi(a=1)")],
            ["SmolLM2, clean", "SmolLM2, pmi"],
        ),
        (
            [one("tiny", "nothing@none", prompt="none"), one("tiny", "nothing@none", prompt="shots(k=3)")],
            ["tiny", "tiny, shots k=3"],
        ),
        ([one("mine_2", "x@1"), one("Org/Big-1B", "x@1")], ["mine_2", "Big-1B"]),
        ([one("Org/Big", "x@1", base="Org/Big"), one("big", "x@1", base="big")], ["Big", "big"]),
        (
            [one("tiny", "x@1", scoring="letter"), one("tiny", "x@1"), one("minilm", "x@1")],
            ["tiny, by letters", "tiny, dual", "MiniLM, dual"],
        ),
        (
            [one("tiny", "x@1", command="python evaluate.py name=first"), one("tiny", "x@1")],
            ["first", "tiny"],
        ),
        (
            [one("tiny", "x@1"), one("tiny", "x@1", method="contrastive+lora, mean of 2 seeds")],
            ["tiny", "tiny, mean of 2 seeds"],
        ),
        (
            [one("tiny", "x@1"), one("tiny", "snli>x@1"), one("tiny", "snli>x@1", scoring="pmi")],
            ["tiny", "tiny, SNLI, dual", "tiny, SNLI, pmi"],
        ),
        ([one("tiny", "mix(a=1)@1"), one("tiny", "mix(a=2)@1")], ["tiny, a=1", "tiny, a=2"]),
    ],
)
def test_a_name_says_what_differs_and_no_more(shown: list[One], wanted: list[str]) -> None:
    assert names.short(shown) == wanted


def test_systems_that_nothing_tells_apart_have_the_names_of_their_folders() -> None:
    shown = [One({"model": "tiny", "facts": FACTS}, Path(f"runs/{name}")) for name in ("a", "b")]
    assert names.short(shown) == ["a", "b"]


def test_trainings_that_differ_in_a_setting_say_it_as_it_is_typed() -> None:
    lr = [names.flat({"method": {"lr": each, "epochs": 8}}) for each in (0.001, 2e-5)]
    assert lr[1] == {"method.lr": "2e-5", "method.epochs": "8"}
    shown = [replace(one("tiny", "x@1"), settings=each) for each in lr]
    assert names.short(shown) == ["tiny, method.lr=0.001", "tiny, method.lr=2e-5"]
    other = one("other", "x@1")
    assert names.short([*shown, other])[2] == "other", "only names that are alike say more"


def test_only_those_that_nothing_tells_apart_have_the_names_of_their_folders() -> None:
    alike = [One({"model": "tiny", "facts": FACTS}, Path(f"runs/{name}"), 0) for name in ("a", "b")]
    shown = [*alike, replace(alike[0], folder=Path("runs/c"), content={"model": "other", "facts": FACTS})]
    assert names.short(shown) == ["a", "b", "other"]


def test_a_pool_that_is_named_by_its_folder_has_the_folder_of_all_its_seeds() -> None:
    facts = {**FACTS, "train_seed": 0}
    places = [("a", 0), ("a", 1), ("b", 0)]
    runs = [
        systems.System(
            "x",
            Path(f"runs/{name}/seed{seed}"),
            {"model": "tiny", "facts": {**facts, "train_seed": seed}},
            (),
            "same recipe",
        )
        for name, seed in places
    ]
    assert [pool.name for pool in systems.pooled(runs)] == ["a, 2 seeds", "b/seed0"]


def test_titles_are_words_of_the_paper_and_a_mixture_is_titled_by_what_was_evaluated() -> None:
    dev = {"validation": {"name": "dev"}, "settings": {"dataset": "mix", "mix": {"figqa": 0.5, "munch": 3}}}
    mixed = {"data_name": "multitask", "split": "validation", "data": dev}
    assert spelled.evaluated(mixed) == "Fig-QA, dev"
    assert (
        spelled.evaluated({"data_name": "figqa_medium", "split": "test", "task": "figqa"}) == "Fig-QA, test"
    )
    munch = {"data_name": "munch_word", "split": "validation", "task": "munch"}
    assert spelled.evaluated(munch) == "MUNCH word, validation"
    assert [spelled.data(f"figqa_{size}") for size in ("small", "medium", "large")] == [
        "Fig-QA S",
        "Fig-QA L",
        "Fig-QA XL",
    ]


@pytest.mark.parametrize("schema", [ReportConfig, CompareConfig])
def test_reports_and_comparisons_take_new_names(schema: type) -> None:
    assert schema(["a", "b"], rename=["a=b"]).rename == ["a=b"]
    verb = schema.__name__.removesuffix("Config").lower()
    words = readable(ROOTS[verb], ["x", "rename=SmolLM2, LM loss=LM", "rename=runs/a=B", "y"])
    assert "rename=['SmolLM2, LM loss=LM','runs/a=B']" in words


def test_systems_are_renamed_by_name_or_folder_and_a_name_that_is_not_there_is_refused() -> None:
    folders = [str(ROOT / "checkpoints" / name) for name in ("minilm-figqa-large", "smollm2-figqa-large")]
    read = systems.read(folders)
    rename = names.renaming(["MiniLM=Ours", f"{folders[1]}/=Theirs"])
    assert [pool.name for pool in systems.pooled(read, rename)] == ["Ours", "Theirs"]
    with pytest.raises(FiglangError, match="no system is called x; shown are MiniLM; SmolLM2"):
        systems.check_renamed(systems.pooled(read), {"x": "y"})
    with pytest.raises(FiglangError, match="two systems are called SmolLM2"):
        systems.pooled(read, {"MiniLM": "SmolLM2"})
    for wrong in (["x"], ["=x"], ["x="], ["a=b", "a=c"]):
        with pytest.raises(FiglangError, match="rename="):
            names.renaming(wrong)


def lines_of_names(shown: Sequence[One]) -> int:
    """How many lines of `figlang.runs.names` are run to name so many systems; each turn of a loop is one."""
    run = 0

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal run
        run += event == "line"
        return count if frame.f_code.co_filename == names.__file__ else None

    before = sys.gettrace()
    sys.settrace(count)
    try:
        assert len(set(names.short(shown))) == len(shown)
    finally:
        sys.settrace(before)
    return run


def test_ten_times_the_systems_take_ten_times_the_work() -> None:
    """A folder of a thousand results was compared name by name with itself."""
    alike = [replace(one("tiny", "x@1"), folder=Path(f"runs/{number}")) for number in range(300)]
    assert lines_of_names(alike) < 12 * lines_of_names(alike[:30])


def test_a_folder_that_is_given_twice_is_found_without_comparing_all(monkeypatch: pytest.MonkeyPatch) -> None:
    compared, equal = [], PurePath.__eq__

    def counted(self: PurePath, other: object) -> bool:
        compared.append(self)
        return equal(self, other)

    monkeypatch.setattr(PurePath, "__eq__", counted)
    given = [f"none/{number}" for number in range(300)]
    with pytest.raises(FiglangError, match="none/7 is given twice"):
        systems.read([*given, "none/7"])
    assert len(compared) < 3 * len(given)
