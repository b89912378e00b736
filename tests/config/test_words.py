"""Words of a command line that become other words before Hydra reads them."""

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from figlang.config.roots import ROOTS
from figlang.config.words import readable
from figlang.errors import FiglangError


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (["--rename", "MiniLM=Mini"], ["rename=['MiniLM=Mini']"]),
        (["--rename=MiniLM=Mini"], ["rename=['MiniLM=Mini']"]),
        (["--rename", "A=B", "rename=C=D"], ["rename=['A=B','C=D']"]),
    ],
)
@pytest.mark.parametrize("verb", ["compare", "report"])
def test_a_new_name_is_taken_as_a_flag_too(verb: str, given: list[str], wanted: list[str]) -> None:
    assert readable(ROOTS[verb], given) == wanted


def test_shared_items_are_asked_for_by_a_flag_too() -> None:
    assert readable(ROOTS["compare"], ["--common", "one", "two"]) == ["common=true", "runs=[one,two]"]


def test_a_setting_of_a_protocol_is_answered_with_the_protocol_of_its_scoring() -> None:
    for word, preset in (("scoring=letter", "letter"), ("model=smollm2", "cot")):
        with pytest.raises(FiglangError, match=f"named with it: protocol={preset} protocol.language=…"):
            readable(ROOTS["evaluate"], [word, "protocol.language=es"])


def test_other_verbs_explain_the_flag() -> None:
    with pytest.raises(FiglangError, match="arguments have no dashes: write rename=A=B"):
        readable(ROOTS["evaluate"], ["--rename=A=B"])


@pytest.mark.parametrize(
    ("verb", "word", "said"),
    [
        ("evaluate", "own.csv", "own.csv has no key; write data=own.csv"),
        ("train", "mine/items.jsonl", "mine/items.jsonl has no key; write data=mine/items.jsonl"),
        ("describe", "miqa", "miqa has no key; write data=miqa"),
        ("evaluate", "smollm2", "smollm2 has no key; write model=smollm2"),
        ("evaluate", "runs", "runs has no key; write checkpoint=runs"),
    ],
)
def test_a_file_a_run_or_a_preset_that_stands_alone_is_answered_with_its_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, word: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    assert refusal(verb, word) == said


def test_the_last_of_several_values_counts_and_the_folder_is_named_by_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    words = ["method.lr=1e-4", "-m", "seed=0", "method.lr=1e-3", "seed=0"]
    assert readable(ROOTS["train"], words) == ["-m", "method.lr=1e-3", "seed=0"]
    assert caplog.messages == ["method.lr is given twice; the last one counts: method.lr=1e-3"]


@pytest.mark.parametrize("word", ["output=", "output=''", "paths.runs=", "+paths.cache=''"])
def test_a_folder_without_a_name_is_not_the_current_one(word: str) -> None:
    key = word.lstrip("+").partition("=")[0]
    assert refusal("evaluate", word) == f"{key}= is empty; give the name of a folder"


def numbers(schema: Any, prefix: str = "") -> list[str]:
    """Every setting of a command that takes a number, by its name on the command line."""
    found, hints = [], get_type_hints(schema)
    for spec in fields(schema):
        hint = hints[spec.name]
        group = next((one for one in (hint, *get_args(hint)) if is_dataclass(one)), None)
        if group is not None:
            found += numbers(group, f"{prefix}{spec.name}.")
        elif "int" in str(hint) or "float" in str(hint):
            found.append(f"{prefix}{spec.name}")
    return found


def refusal(verb: str, *words: str) -> str:
    with pytest.raises(FiglangError) as error:
        readable(ROOTS[verb], list(words))
    return str(error.value)


LONG = "9" * 5000


@pytest.mark.parametrize("verb", ["train", "report", "describe"])
def test_a_number_too_long_to_read_is_named_with_its_key(verb: str) -> None:
    found = numbers(ROOTS[verb].schema)
    assert found
    for key in found:
        preset = f"{key.partition('.')[0]}={'cot' if key.startswith('protocol.') else 'clean'}"
        said = refusal(
            verb, *([preset] if key.startswith(("scoring.", "protocol.")) else []), f"{key}={LONG}"
        )
        assert said.startswith(f"{key}=9"), said
        assert len(said) < 250


@pytest.mark.parametrize("value", ["-{}", "[{}]", "[1,{}]", "1,{}", "range(0,{})", "{{figqa:{}}}"])
def test_also_in_lists_ranges_and_dictionaries(value: str) -> None:
    assert refusal("train", f"data.mix={value.format(LONG)}").startswith("data.mix=")


def test_a_text_may_have_as_many_digits_as_it_likes() -> None:
    assert readable(ROOTS["compare"], [f"title='{LONG}'"]) == [f"title='{LONG}'"]
    assert readable(ROOTS["evaluate"], ["scoring=clean", f"scoring.template={LONG}"])[1].endswith(f"{LONG}'")


@pytest.mark.parametrize("path", ["/a/k=v/seed0", "./k=v", "../lr=0.1/seed0"])
def test_a_path_may_hold_an_equals_sign(path: str) -> None:
    assert readable(ROOTS["compare"], [path, "common=true"]) == ["common=true", f"runs=['{path}']"]
