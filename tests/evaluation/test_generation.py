"""Answers in a model's own words: what is asked, written and rated, and the two commands, on a tiny random
network."""

import csv
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch

from figlang.commands.generate import main as generate_command
from figlang.commands.rate import main as rate_command
from figlang.config import SamplingConfig
from figlang.errors import FiglangError
from figlang.evaluation.generation import Writer, first_paragraph, first_sentence, rated_part
from figlang.files.sources import package_path
from figlang.rating import answers
from figlang.rating.sheets import KEY, SHEET
from figlang.tasks import open as questions
from figlang.tasks.figqa import free_text as figqa_free_text
from figlang.tasks.figqa import reading as figqa
from figlang.tasks.miqa import free_text
from figlang.tasks.miqa import reading as miqa
from figlang.types import Generation, Item
from tests.causal_models import network, tokenizer

SAMPLE = miqa.read(package_path(f"package:figlang/samples/miqa/{miqa.FILE}")).items
TOKENIZER = tokenizer()


# Questions


def test_the_generative_question_of_every_kind() -> None:
    asked = free_text.ask(SAMPLE[:4], list(free_text.KINDS))
    anna = "Anna invested years in her garden"
    assert {one.kind: one.prompt for one in asked} == {
        "metaphorical-literal": f'"{anna}". Could that imply that "Anna may be paid interest"?',
        "metaphorical-metaphorical": f'"{anna}". Could that imply that "Anna\'s flowers are well looked after"?',
        "literal-literal": '"Anna invested her savings in a bank". Could that imply that "Anna may be paid interest"?',
    }


def test_a_row_is_asked_about_once() -> None:
    asked = free_text.ask(SAMPLE, ["metaphorical-literal"])
    assert len(asked) == 44 == len({one.item for one in asked})
    assert asked[1].prompt.startswith('"The tourist')


def test_a_metaphor_is_asked_about_once_with_one_period_and_no_space_at_the_end() -> None:
    items = [
        Item(str(n), "g", text, ("x", "y"), 0)
        for n, text in enumerate(["He is a rock.", "He is a rock.", "She is gold"])
    ]
    assert [one.prompt for one in figqa_free_text.ask(items)] == [
        "He is a rock. That is to say,",
        "She is gold. That is to say,",
    ]


def test_examples_are_answered_questions_of_other_rows() -> None:
    asked = free_text.ask(SAMPLE, ["metaphorical-literal"])
    pool = [Generation(one.item, one.group, one.kind, 0, one.prompt, "No.\nx", "No.") for one in asked[:6]]
    shown = questions.with_examples(asked, pool, 5)
    for one, plain in zip(shown, asked, strict=True):
        *before, last = one.prompt.split("\n\n")
        assert last == plain.prompt
        assert len(before) == len(set(before)) == 5
        assert all(text.endswith('"? No.') for text in before)
        assert f"{plain.prompt} No." not in before
    with pytest.raises(
        FiglangError, match="6 rated answers are wanted before a question, but only 5 are from other rows"
    ):
        questions.with_examples(asked[:1], pool, 6)


# What is rated


@pytest.mark.parametrize(
    ("text", "paragraph"),
    [(" No, it is.\nYes.", "No, it is."), ("\n\n Yes. \n", "Yes."), ("", ""), ("No", "No")],
)
def test_first_paragraph(text: str, paragraph: str) -> None:
    assert first_paragraph(text) == paragraph


@pytest.mark.parametrize(
    ("text", "sentence", "period"),
    [
        (" he is soft. He is kind.", "he is soft.", "he is soft"),
        (" it melts! And drips.", "it melts!", "it melts! And drips"),
        (" Mr. Smith left, e.g. by train. So", "Mr. Smith left, e.g. by train.", "Mr"),
        (' he said "no." Then', 'he said "no."', 'he said "no'),
        (" it cost 3.50 a day. Yes", "it cost 3.50 a day.", "it cost 3"),
        (" so am I. You too.", "so am I.", "so am I"),
        (" No. It means that", "No.", "No"),
        (" without end\nnext line", "without end", "without end next line"),
        # GPT-3 wrote this break, and people rated what follows it too.
        (
            " the review rang of\n\nthe praise of a king. So",
            "the review rang of",
            "the review rang of the praise of a king",
        ),
    ],
)
def test_first_sentence(text: str, sentence: str, period: str) -> None:
    assert (first_sentence(text), first_sentence(text, "period")) == (sentence, period)


# Writing


PROMPTS = ["The oven", "It was the so as", "Once there was the oven, and it was so"]


def test_greedy_writing_takes_the_likeliest_token_whatever_the_batch() -> None:
    plain = network("llama")
    writer = Writer(plain, TOKENIZER)
    sampling = SamplingConfig(max_tokens=6)
    together = writer.write(PROMPTS, sampling)
    assert together == writer.write(PROMPTS, sampling, batch_size=1)
    ids = TOKENIZER(PROMPTS[0], add_special_tokens=False)["input_ids"]
    for _ in range(6):
        ids.append(int(plain(input_ids=torch.tensor([ids])).logits[0, -1].argmax()))
    assert together[0] == [TOKENIZER.decode(ids[-6:], skip_special_tokens=True)]


def test_batches_become_smaller_if_memory_is_not_enough(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    writer, prompts = Writer(network("llama"), TOKENIZER), ["A", "The wall is a", "She is", "He", "It was"]
    sampling, whole = SamplingConfig(temperature=0, max_tokens=4), Writer._continue
    expected = writer.write(prompts, sampling)

    def few(self: Writer, ids: Sequence[Sequence[int]], sampling: SamplingConfig) -> list[str]:
        if len(ids) > 2:
            raise MemoryError
        return whole(self, ids, sampling)

    monkeypatch.setattr(Writer, "_continue", few)
    assert writer.write(prompts, sampling, batch_size=5) == expected
    assert "from now on at most 2 prompts are continued together" in caplog.text


def test_drawn_answers_follow_the_seed() -> None:
    writer = Writer(network("llama"), TOKENIZER)
    draws = [
        writer.write(PROMPTS, SamplingConfig(temperature=1.0, n=3, max_tokens=8, seed=seed))
        for seed in (0, 0, 1)
    ]
    assert draws[0] == draws[1] != draws[2]
    assert [len(several) for several in draws[0]] == [3, 3, 3]
    assert len(set(draws[0][0])) > 1


def test_a_prompt_that_leaves_no_room_is_named() -> None:
    writer = Writer(network("llama"), TOKENIZER)
    with pytest.raises(FiglangError, match=r"prompt 'xxx.*with max_tokens=64 that is more than the 640"):
        writer.write(["x" * 600], SamplingConfig())
    with pytest.raises(FiglangError, match=r"empty prompt .* set model\.bos"):
        writer.write([""], SamplingConfig())


def test_what_draws_is_what_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = network("llama")
    used = {}
    generate = plain.generate
    monkeypatch.setattr(plain, "generate", lambda **given: used.update(given) or generate(**given))
    Writer(plain, TOKENIZER).write(PROMPTS, SamplingConfig(temperature=0.7, top_p=0.9, max_tokens=2))
    assert (used["temperature"], used["top_p"], used["top_k"]) == (0.7, 0.9, 0)


def test_a_models_own_penalties_are_left_out() -> None:
    plain = network("llama")
    before = Writer(plain, TOKENIZER).write(PROMPTS, SamplingConfig(max_tokens=8))
    plain.generation_config.repetition_penalty = 50.0
    plain.generation_config.suppress_tokens = list(range(0, 40))
    assert Writer(plain, TOKENIZER).write(PROMPTS, SamplingConfig(max_tokens=8)) == before
    assert plain.generation_config.repetition_penalty == 50.0


def test_the_part_that_is_rated_follows_the_benchmark() -> None:
    text = "He is. She is.\nMore"
    assert [rated_part(kind, text) for kind in ("literal-literal", figqa_free_text.KIND)] == [
        "He is. She is.",
        "He is.",
    ]
    assert rated_part(figqa_free_text.KIND, "It cost 3.50.", "period") == "It cost 3"


def test_a_pool_has_32_of_a_kind() -> None:
    several = [Generation(str(n), str(n), "yes", 0, "?", "a", "a") for n in range(40)]
    assert len({one.item for one in questions.pool({"yes": several, "no": several[:3]})}) >= 32
    assert len(questions.pool({"yes": several, "no": several[:3]})) == 35


def test_the_proxys_interval_resamples_rows() -> None:
    # Nine answers to each of two rows that all agree say no more than one answer to each.
    rows = [
        Generation(f"{g}-{n}", g, "literal-literal", n, "?", text, text)
        for g, text in (("a", "Yes"), ("b", "No"))
        for n in range(9)
    ]
    found, once = answers.begins_as_expected(rows), answers.begins_as_expected(rows[::9])
    assert found is not None
    assert once is not None
    assert 0 < found["low"] <= once["low"] < once["high"] <= found["high"] < 1


def test_the_proxy_counts_beginnings() -> None:
    texts = {
        "No, it means x.": True,
        "no": True,
        '"No".': True,
        "Nobody knows": False,
        "Yes": False,
        "": False,
    }
    rows = [
        Generation(f"r{n}", f"r{n}", "metaphorical-literal", 0, "?", text, text)
        for n, text in enumerate(texts)
    ]
    found = answers.begins_as_expected(rows)
    assert found is not None
    assert (found["value"], found["n"]) == (0.5, 6)


# The commands


Run = Callable[..., Path]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    network("llama", max_position_embeddings=2048).save_pretrained(tmp_path / "tiny")
    TOKENIZER.save_pretrained(tmp_path / "tiny")
    fixed = [
        "model=causal",
        f"model.name_or_path={tmp_path}/tiny",
        "model.bos=add",
        "trainer=cpu",
        "trainer.progress=false",
    ]

    def call(name: str, *overrides: str) -> Path:
        words = ["data=miqa_sample", "sampling.max_tokens=8", *fixed, f"output={tmp_path}/{name}", *overrides]
        monkeypatch.setattr(sys, "argv", ["generate.py", *words])
        generate_command()
        return tmp_path / name

    return call


def fill_in(folder: Path, name: str, word: str) -> Path:
    with (folder / SHEET).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with (folder / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(
            row | {"rating": word if place % 5 else "ambiguous"} for place, row in enumerate(rows)
        )
    return folder / name


def test_from_answers_to_ratings_to_examples(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = run("first", "data.limit=40", "kinds=[metaphorical-literal,literal-literal]")
    written = answers.read(first)
    assert len(written) == 20
    assert json.loads((first / "metrics.json").read_text())["answers"] == 20
    sheets = [fill_in(first, "ann.csv", "correct"), fill_in(first, "ben.csv", "correct")]
    monkeypatch.setattr(
        sys, "argv", ["rate.py", f"folder={first}", f"ratings=[{','.join(map(str, sheets))}]"]
    )
    rate_command()
    found = json.loads((first / "ratings.json").read_text())
    assert found["models"]["tiny"]["score"] == pytest.approx(0.9)
    assert found["agreement"]["icc_complete"]["average"] == pytest.approx(1)
    assert "of one mind on 20 of 20 answers" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["rate.py", f"folder={first}", f"ratings=[{sheets[0]}]"])
    rate_command()
    alone = capsys.readouterr().out
    assert "of one mind" not in alone, "nothing has several ratings"
    assert "agreement needs two sheets or more" in alone

    second = run("second", "data.limit=8", "shots=5", f"rated={first}", f"ratings=[{sheets[0]}]")
    assert "|pool:" in json.loads((second / "metrics.json").read_text())["signature"]
    assert all(one.prompt.count("\n\n") == 5 for one in answers.read(second))

    for overrides, message in (
        (["data=figqa_sample"], "has answers to other questions"),
        (
            [f"output={first}"],
            ", shots: 0 → 5); choose another folder with output=DIR, or replace it with overwrite=true",
        ),
    ):
        with pytest.raises(SystemExit):
            run("third", "data.limit=8", "shots=5", f"rated={first}", f"ratings=[{sheets[0]}]", *overrides)
        assert message in capsys.readouterr().err

    blind = tmp_path / "blind"
    monkeypatch.setattr(sys, "argv", ["rate.py", f"folder={blind}", f"runs=[{first},{second}]"])
    rate_command()
    assert len(json.loads((blind / KEY).read_text())["answers"]) == 22


def test_figqa_has_several_answers_to_a_metaphor(run: Run) -> None:
    written = answers.read(run("figqa", "data=figqa_sample", "data.limit=3", "sampling=liu2022"))
    assert [one.sample for one in written] == [0, 1, 2, 3] * 3
    assert {one.kind for one in written} == {figqa_free_text.KIND}
    contexts = [
        item.context for item in figqa.load("validation", "medium", "package:figlang/samples", "").items[:3]
    ]
    assert written[0].prompt == contexts[0].rstrip(".") + ". That is to say,"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["sampling.n=2"], "would all be the same at sampling.temperature=0"),
        (["kinds=[x]"], "not a kind of MiQA's open questions"),
        (["shots=2"], "shots=, rated= and ratings= go together"),
        (["ratings=[a.csv]"], "shots=, rated= and ratings= go together"),
        (["kinds=[]"], "kinds=[] has no questions"),
        (["data.question=implied-by"], "has no questions about these items"),
        (["shots=2", "rated=/nowhere", "ratings=[a.csv]"], "/nowhere has no sheet"),
        (["sampling.top_p=2"], "sampling.top_p=2.0 must be above 0 and at most 1"),
        (["sampling.top_p=0.9"], "sampling.top_p changes nothing without sampling.temperature=0.7"),
        (["sampling.seed=1"], "sampling.seed changes nothing without sampling.temperature=0.7"),
        (
            ["data=winogrande_l", "data.root=package:figlang/samples"],
            "there are no open questions; use another data=, or rate answers that were written elsewhere",
        ),
    ],
)
def test_a_mistake_is_one_line(
    run: Run, overrides: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run("out", *overrides)
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "overrides", [[], ["runs=[a]", "ratings=[b]"], ["runs=[/nowhere]"], ["ratings=[/nowhere.csv]"]]
)
def test_a_sheet_that_cannot_be_is_one_line(
    overrides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["rate.py", f"folder={tmp_path}", *overrides])
    with pytest.raises(SystemExit) as ended:
        rate_command()
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
