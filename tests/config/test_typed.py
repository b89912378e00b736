"""Words of a command line that Hydra cannot read, and Ctrl-C before there is a command that could take it."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from figlang.commands import describe
from figlang.config import EvaluateConfig
from figlang.config.composing import compose
from figlang.config.roots import ROOTS
from figlang.config.typed import advice, text, without_configuration
from figlang.config.words import readable
from figlang.errors import FiglangError
from tests.running import ROOT

PRESETS = {
    "model": ["bert", "roberta"],
    "method": ["contrastive"],
    "data": ["figqa_medium"],
    "peft": ["none"],
}
TOP = ("data", "model", "method", "seed", "run", "resume", "overwrite", "also", "nli")
UNREADABLE = [
    "data.train=/x/{a}.csv",
    "data.train=it's.csv",
    "data.name=hello(world",
    "data.name=$x^{$",
    "data.train=C:\\x y(1)\\",
    "data.name=[a",
]


@pytest.mark.parametrize(
    ("word", "values"),
    [
        ("run=runs/Läufe/seed0", "runs/Läufe/seed0"),
        ("data.train=a=b.csv", "a=b.csv"),
        ("name=é&", "é&"),
        # figlang itself names folders with ~
        ("also=[runs/evaluations/checkpoints~tiny/dev,~/Über uns,b]", None),
    ],
)
def test_plain_text_needs_no_quotes(word: str, values: str | None) -> None:
    (read,) = readable(ROOTS["train"], [word])
    override = OverridesParser.create().parse_override(read)
    listed = ["runs/evaluations/checkpoints~tiny/dev", "~/Über uns", "b"]
    assert override.value() == (listed if values is None else values)


def test_several_values_stay_several() -> None:
    (read,) = readable(ROOTS["transfer"], ["checkpoint=runs/Ä/seed0,runs/b/seed0"])
    override = OverridesParser.create().parse_override(read)
    assert [str(value) for value in override.sweep_string_iterator()] == ["'runs/Ä/seed0'", "runs/b/seed0"]


def test_a_list_with_quotes_in_its_texts_is_not_quoted_as_a_whole() -> None:
    said = advice("fit=[ü,'b']")
    assert said.endswith("put each of its texts in quotes: fit=['…','…']")


@pytest.mark.parametrize("word", UNREADABLE)
def test_the_advice_is_a_word_that_hydra_reads_as_what_was_meant(word: str) -> None:
    said = advice(word)
    assert repr(word) in said
    (quoted,) = shlex.split(said.partition("in quotes for the shell too: ")[2])
    assert OverridesParser.create().parse_override(quoted).value() == word.partition("=")[2]


@pytest.mark.parametrize("word", [*UNREADABLE, "foo bar", '"foo'])
def test_a_command_names_the_argument_that_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["describe", "split=train", word])
    with pytest.raises(SystemExit) as ended:
        describe.main()
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said == f"error: {advice(word)}\n"
    assert not re.search("mismatched|viable|Lexer", said)


@pytest.mark.parametrize(
    "word", ["seed=range(0)", "seed=range(3,1)", "seed=range(1,2,-1)", "data=glob(nothing*)"]
)
@pytest.mark.parametrize("verb", ["train", "transfer"])
def test_a_range_or_pattern_without_values_is_one_line(verb: str, word: str) -> None:
    with pytest.raises(FiglangError, match=f"^{re.escape(word)} has no values, so nothing would run"):
        readable(ROOTS[verb], ["-m", word])
    assert readable(ROOTS[verb], ["seed=range(3)", "data=glob(figqa*)"]) == [
        "seed=range(3)",
        "data=glob(figqa*)",
    ]


def test_the_configuration_that_an_agent_gives_back_becomes_presets_and_swept_keys() -> None:
    """As W&B's agent words a run that is begun again: what the run logged beside what was swept."""
    fixed = ["data=figqa_medium", "run=runs/sweep/s/r", "logger=wandb"]
    given = [
        "_wandb={'cli_version': '0.28.0', 't': {'1': [1, 2]}}",
        "also=[]",
        "data={'name': 'figqa_medium', 'mix': {}, 'limit': None}",
        "method={'name': 'contrastive', 'lr': 1e-05}",
        "method.lr=1e-05",
        "model={'name': 'bert', 'bos': \"it's\"}",
        "nli={'labels': None}",
        "overwrite=False",
        "resume=auto",
        "run=runs/sweep/s/r",
        "seed=2",
    ]
    kept = without_configuration([*fixed, *given], PRESETS, TOP)
    assert kept == [
        *fixed,
        "method.lr=1e-05",
        "run=runs/sweep/s/r",
        "seed=2",
        "method=contrastive",
        "model=bert",
    ]


def test_a_group_whose_name_is_no_preset_is_left_to_what_was_typed() -> None:
    words = ["_wandb={'a': 1}", "model={'name': 'mine', 'x': 1}", "peft={broken", "method.lr=1"]
    assert without_configuration(words, PRESETS, TOP) == ["method.lr=1"]


def test_any_other_command_line_stays_as_it_is() -> None:
    words = ["data={'name': 'x'}", "resume=never", "seed=1"]
    assert without_configuration(words, PRESETS, TOP) == words


@pytest.mark.parametrize(
    "words", [["train.py"], ["evaluate.py"], ["-m", "figlang", "describe"], ["-m", "figlang", "generate"]]
)
def test_ctrl_c_while_modules_are_imported_is_one_word(tmp_path: Path, words: list[str]) -> None:
    for name in ("torch", "hydra"):  # whichever comes first
        (tmp_path / f"{name}.py").write_text("raise KeyboardInterrupt\n")
    first = [str(ROOT / words[0])] if words[0] != "-m" else words
    # The folder of the script goes before PYTHONPATH only for modules that it has.
    known = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    result = subprocess.run(
        [sys.executable, *first],
        cwd=tmp_path,
        env=known,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.stderr == "interrupted\n"
    assert result.returncode in (-2, 130)


def test_a_program_that_uses_figlang_keeps_its_own_way() -> None:
    said = subprocess.run(
        [sys.executable, "-c", "import sys, figlang; print(sys.excepthook is sys.__excepthook__)"],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert said.stdout == "True\n"


@pytest.mark.parametrize("value", ["dichos.csv", "tinybert", "a-b", "nulls", "true.csv"])
def test_plain_words_need_no_quotes(value: str) -> None:
    assert text(value) == value
    assert OverridesParser.create().parse_override(f"key=[{text(value)}]").value() == [value]


@pytest.mark.parametrize("value", ["true", "False", "null", "NaN", "inf", "1e-3", "7", "", "a b", "it's"])
def test_text_stays_text(value: str) -> None:
    assert OverridesParser.create().parse_override(f"key={text(value)}").value() == value
    assert isinstance(OverridesParser.create().parse_override(f"key={text(value)}").value(), str)


def test_words_of_a_protocol_arrive_as_they_are_typed() -> None:
    words = [
        "protocol=cot",
        "protocol.system=You are a linguist, and brief.",
        "protocol.chat_template_kwargs={enable_thinking:false}",
        "protocol.think_tags=['<plan>','</plan>']",
        "model=served",
        "model.name=x",
        "model.endpoint=http://h",
        "model.extra_body={top_k:20,stop_token:end,prompt_cache_key:figqa,max_tokens:'9'}",
    ]
    config = compose("evaluate", EvaluateConfig, readable(ROOTS["evaluate"], words))
    assert config.protocol is not None
    assert config.protocol.system == "You are a linguist, and brief."
    assert config.protocol.chat_template_kwargs == {"enable_thinking": False}
    assert config.protocol.think_tags == ["<plan>", "</plan>"]
    assert config.model.extra_body == {
        "top_k": 20,
        "stop_token": "end",
        "prompt_cache_key": "figqa",
        "max_tokens": "9",
    }, "none of them is a key"
    assert config.scoring is not None
    assert config.scoring.kind == "letter", "protocol= means scoring=letter"
