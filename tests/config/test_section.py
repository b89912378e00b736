"""Odd settings: every number has a range and every name is one short line, checked by the schema before work
starts."""

from dataclasses import fields, replace
from math import inf, nan
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from figlang import config as schemas
from figlang.config import (
    AverageConfig,
    DataConfig,
    EvaluateConfig,
    MethodConfig,
    ModelConfig,
    TrainerConfig,
)
from figlang.config.section import LONGEST, Range
from figlang.errors import FiglangError
from figlang.tables import drawing
from figlang.tasks.miqa.table3 import Table3Config
from tests.reproducing import OPTIONS
from tests.running import TINY, run

pytestmark = pytest.mark.drawn

KNOWN = (getattr(schemas, name) for name in schemas.__all__)
SECTIONS = [*(section for section in KNOWN if isinstance(section, type)), *OPTIONS.values()]


@pytest.mark.parametrize("section", SECTIONS)
def test_every_number_has_a_range_with_two_ends(section: Any) -> None:
    hints = get_type_hints(section)
    for spec in fields(section):
        kind = str(hints[spec.name])
        if ("int" in kind or "float" in kind) and not spec.metadata.get("choices") and spec.name != "mix":
            within = spec.metadata.get("within")
            assert isinstance(within, Range), f"{section.__name__}.{spec.name}"
            assert (within.least is None) != (within.above is None), spec.name
            assert (within.most is None) != (within.below is None), spec.name


@pytest.mark.parametrize(
    ("within", "good", "bad"),
    [
        (Range(least=0, below=1), (0, 0.5, 0.999), (-0.1, 1, nan, inf, -inf)),
        (Range(above=0, most=1), (0.1, 1), (0, 1.1, nan, inf)),
        (Range(above=0, most=10), (1, 10), (0, -1, 11, 10**30, 1e30)),
    ],
)
def test_the_ends_of_a_range(within: Range, good: tuple[float, ...], bad: tuple[float, ...]) -> None:
    assert [within.fault(number) for number in good] == [None] * len(good)
    assert all(within.fault(number) for number in bad)


@pytest.mark.parametrize(
    "number", [nan, inf, -inf, 1e30, -1e30, 10**400], ids=["nan", "inf", "-inf", "1e30", "-1e30", "10**400"]
)
@pytest.mark.parametrize(
    "name", ["lr", "epochs", "batch_size", "weight_decay", "warmup", "clip", "scale", "held_out"]
)
def test_no_field_takes_what_is_no_number_of_this_world(name: str, number: float) -> None:
    with pytest.raises(FiglangError, match=rf"^method\.{name}=.* must be (at least|above) ") as error:
        replace(MethodConfig(), **{name: number})
    assert len(str(error.value)) < 150


def test_lists_of_numbers_are_checked() -> None:
    with pytest.raises(FiglangError, match=r"^shots=-1 must be at least 0"):
        Table3Config(shots=[0, -1])


@pytest.mark.parametrize(
    "name", ["x" * 300, "é" * (LONGEST // 2 + 1), "a\nb", "a\x1b[31mb", "a\x00b", "a\u2028b", "a/b", ".."]
)
@pytest.mark.parametrize(
    "section", [DataConfig, ModelConfig, schemas.ScoringConfig, schemas.PromptConfig, schemas.SamplingConfig]
)
def test_a_name_is_one_short_line(section: Any, name: str) -> None:
    with pytest.raises(FiglangError, match="name") as error:
        section(name=name)
    assert error.value.args[0].isprintable()
    assert len(str(error.value)) < 150


@pytest.mark.parametrize("name", ["$x^{$", "a b", "नदी", "<b>", "[red]", "{x}", "100 %"])
def test_other_names_are_taken(name: str) -> None:
    assert EvaluateConfig(name=name, data=DataConfig(name=name), model=ModelConfig(name=name)).name == name


def test_a_served_model_keeps_the_servers_name() -> None:
    served = ModelConfig(family="served", name="org/model", name_or_path="", endpoint="http://localhost:1/v1")
    assert (served.name, served.name_or_path) == ("org-model", "org/model")


def test_threads_beyond_any_machine_are_refused() -> None:
    with pytest.raises(FiglangError, match=r"^trainer\.threads=1000000 must be above 0 and at most 1024"):
        TrainerConfig(threads=1_000_000)


@pytest.mark.parametrize(
    ("script", "arguments", "message"),
    [
        ("train.py", ["trainer.threads=1000000"], "trainer.threads=1000000 must be above 0 and at most 1024"),
        ("train.py", ["method.batch_size=1e30"], "method.batch_size"),
        (
            "train.py",
            ["method.batch_size=1000000000000000000000000000000"],
            "method.batch_size=1000000000000000000000000000000 must",
        ),
        ("train.py", ["method.lr=nan"], "method.lr=nan must be above 0 and finite"),
        ("train.py", [f"data.name={'x' * 300}"], "has 300 bytes"),
        ("train.py", ["model.max_length=1"], "max_length=1 leaves no room"),
        ("train.py", ["model.max_length=2", "method.format=dual"], "max_length=2 leaves no room"),
        (
            "train.py",
            ["model.architecture=t5", "method.format=dual"],
            "T5Model cannot read the input format dual",
        ),
        ("train.py", ["model.architecture=t5"], "T5Model cannot read the input format dual"),
        ("evaluate.py", ["max_length=1", "model=minilm", "model.init=tiny"], "max_length=1 leaves no room"),
        ("evaluate.py", ["batch_size=0"], "batch_size=0 must be above 0"),
        ("evaluate.py", [f"name={'x' * 300}"], "has 300 bytes"),
    ],
)
def test_odd_settings_are_one_line_before_work_starts(
    tmp_path: Path, script: str, arguments: list[str], message: str
) -> None:
    own = (
        TINY
        if script == "train.py"
        else ["trainer=cpu", "trainer.progress=false", "trainer.threads=1", "data=figqa_sample"]
    )
    ended = run(tmp_path, script, *own, *arguments)
    assert ended.returncode == 2, ended.stderr
    lines = ended.stderr.strip().splitlines()
    assert lines[-1].startswith("error: ")
    assert message in lines[-1]
    assert "Traceback" not in ended.stderr
    assert not list(tmp_path.rglob("metrics.json"))


@pytest.mark.parametrize("name", ["$x^{$", r"$\frac{1}{0}$", "a_b^c", "$$"])
def test_figures_show_names_as_they_are(tmp_path: Path, name: str) -> None:
    def paint(_: Any, axes: Any) -> None:
        axes.plot([0, 1], [0, 1])
        axes.set_xticks([0, 1], [name, name])
        axes.set_title(name)
        drawing.label_ends(axes, [(1, 1, name, "#000000")])

    figure = drawing.drawn(2, 2, paint)
    drawing.save(figure, tmp_path / "figure", ("svg", "pdf"))
    text = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert text.count(f">{name}</text>") == 4
    assert name in drawing.inline(figure, name)


def test_options_that_change_nothing_say_why() -> None:
    with pytest.raises(FiglangError, match="density= changes nothing under way=mean"):
        AverageConfig(runs=["a", "b"], output="c", density=0.3)
    assert AverageConfig(runs=["a", "b"], output="c", way="ties", density=0.3).density == 0.3
