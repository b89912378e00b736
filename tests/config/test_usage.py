"""`--help`: one screen, one group, one field; nothing is lost."""

import shlex
from dataclasses import fields

import pytest

from figlang.config.composing import compose
from figlang.config.examples import EXAMPLES
from figlang.config.presets import CONF
from figlang.config.roots import ROOTS, Root, chosen
from figlang.config.topics import chapters, headline, presets_of, topic
from figlang.config.usage import COLUMNS, LINES, overview
from figlang.config.words import readable
from figlang.errors import FiglangError

TABLE = {"reproduce": ["table=munch_judge"]}


def root_of(verb: str) -> Root:
    return chosen(verb, TABLE.get(verb, []))[1]


@pytest.mark.parametrize("verb", ROOTS)
def test_the_first_screen_is_a_screen(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [f"/x/commands/{verb}.py"])
    lines = overview(verb, root_of(verb), CONF).splitlines()
    assert lines[0].startswith(f"usage: figlang {verb} ")
    assert len(lines) <= LINES
    assert [line for line in lines if len(line) > COLUMNS] == []
    for name in chapters(root_of(verb)):
        assert name == "fields" or any(line.startswith(f"  {name} ") for line in lines)


def test_train_and_evaluate_have_five_examples() -> None:
    assert (len(EXAMPLES["train"]), len(EXAMPLES["evaluate"])) == (5, 5)
    assert set(EXAMPLES) == set(ROOTS)


@pytest.mark.parametrize("verb", ROOTS)
def test_everything_is_under_some_topic(verb: str) -> None:
    root = root_of(verb)
    said = "\n".join(topic(name, root, CONF) for name in chapters(root))
    joined = " ".join(said.split())
    for group in chapters(root):
        for preset in presets_of(group, CONF):
            assert f"  {preset} " in said
            assert " ".join(headline(CONF / group / f"{preset}.yaml").split()) in joined
    for spec in fields(root.schema):
        if "help" in spec.metadata:
            assert f"  {spec.name} " in said
            # textwrap breaks words at hyphens.
            assert spec.metadata["help"].replace(" ", "") in joined.replace(" ", "")


def test_a_group_shows_type_default_and_sentence_of_its_fields() -> None:
    said = topic("method", root_of("train"), CONF)
    assert "  method.lr                  number (above 0), default 2e-05\n      Peak learning rate" in said
    assert "  method.name                contrastive|lm|nli, default contrastive\n" in said
    assert "Options of method=:" in said
    assert "scoring." not in said


def test_a_field_is_found_with_and_without_its_group() -> None:
    assert topic("limit", root_of("train"), CONF) == topic("data.limit", root_of("train"), CONF)
    both = topic("max_tokens", root_of("train"), CONF)
    assert "method.max_tokens" in both
    assert "scoring.max_tokens" in both


@pytest.mark.parametrize(
    ("asked", "meant"), [("dta", "data"), ("method.epoch", "method.epochs"), ("epoch", "method.epochs")]
)
def test_a_topic_with_a_typo(asked: str, meant: str) -> None:
    with pytest.raises(FiglangError, match=f"no group or field {asked}; did you mean {meant}\\?"):
        topic(asked, root_of("train"), CONF)


@pytest.mark.parametrize(
    ("verb", "example"), [(verb, example) for verb, examples in EXAMPLES.items() for example in examples]
)
def test_every_example_composes(verb: str, example: str) -> None:
    words = [word for word in shlex.split(example) if word != "-m" and "FILE" not in word]
    words = ["model=minilm" if word in ("model=FOLDER", "model=ORG/NAME") else word for word in words]
    words = [word if "[" in word else word.split(",")[0] for word in words]
    root = chosen(verb, words)[1]
    compose(verb, root.schema, readable(root, words))
