"""MUNCH's generation by command: prompts, rankings beside what they are made into, figures; with tiny random
networks."""

import json
from pathlib import Path
from typing import Any

import pytest

from figlang.config import DataConfig, PathsConfig
from figlang.config.composing import compose
from figlang.errors import FiglangError
from figlang.rating import substitutions
from figlang.statistics import rankings
from figlang.tasks import registry as data
from figlang.tasks.munch import similarity, table3
from figlang.tasks.munch.blanks import PROMPTS, ask
from figlang.tasks.munch.generation import GenerationConfig
from figlang.types import Marked
from tests import causal_models, masked_models
from tests.calls import mistake
from tests.conftest import published
from tests.reproducing import Run, runner
from tests.reproducing import munch_figures as figures_command
from tests.reproducing import munch_generate as generate_command

pytestmark = pytest.mark.drawn

SAMPLE = ["data=munch_sample", "data.question=generation", "trainer=cpu", "trainer.progress=false"]
ITEM = Marked("s1", "g1", "No golden light bathed the house.", ("lit",), None, target=(16, 22), blank=True)


def test_prompts_are_the_published_ones() -> None:
    path = Path(published("munch/tasks/prompts.md")) / "munch" / "tasks" / "prompts.md"
    text = path.read_text(encoding="utf-8").partition("## Paraphrase generation")[2]
    starred, with_blank = ITEM.highlighted(), ITEM.highlighted(word="[blank]")
    for name in PROMPTS:
        template = text.partition(f"### {name}")[2].split("```")[1].strip()
        asked = ask([ITEM], name)[0]
        assert asked.before == template.format(original_sentence=starred, tw_replaced_by_blank=with_blank)
        assert asked.after == ""


def test_the_two_forms() -> None:
    quoted, inserted = ask([ITEM], "UASW92")[0], ask([ITEM], "UASW92", "insert")[0]
    assert quoted.before.splitlines()[1:] == [
        "Sentence: No golden light *bathed* the house.",
        "New sentence: No golden light *[blank]* the house.",
        '[blank] should be "',
    ]
    assert inserted.before.splitlines()[1:] == [
        "Sentence: No golden light *bathed* the house.",
        "New sentence: No golden light *",
    ]
    assert inserted.after == "* the house."


def test_a_prompt_needs_answers_and_a_name() -> None:
    with pytest.raises(
        FiglangError, match="'x' is not a generation prompt of MUNCH; choose one of PTGS54, UASW92, GASW45"
    ):
        ask([ITEM], "x")
    judged = data.load(
        "validation", DataConfig(dataset="munch", root="package:figlang/samples"), PathsConfig()
    ).items
    with pytest.raises(FiglangError, match="has no answers that people gave; use data=munch_generation"):
        ask(judged, "PTGS54")


def test_figure_3_is_of_1072_published_triples() -> None:
    root = published("munch/correct_answers/for_judgement.csv")
    judged = data.load("validation", DataConfig(dataset="munch", question="word", root=root), PathsConfig())
    rows = similarity.triples(judged.items, {})
    assert similarity.measure(rows) == {"triples": 1072, "used": 0, "left_out": 1072}


@pytest.fixture(scope="module")
def causal_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "tiny"
    causal_models.network("llama", max_position_embeddings=2048).save_pretrained(path)
    causal_models.tokenizer().save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def masked_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "masked"
    tokenizer = masked_models.bytes_()
    masked_models.network("roberta", tokenizer, max_position_embeddings=900).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(monkeypatch, tmp_path / "out", *SAMPLE)


def test_rankings_and_tables(run: Run, causal_folder: Path, tmp_path: Path) -> None:
    content = run(
        generate_command,
        "model=causal",
        "model.bos=add",
        f"model.name_or_path={causal_folder}",
        "data.limit=5",
        "least=1",
        "max_tokens=3",
    )
    cells = {name: rankings.read(tmp_path / "out" / "rankings" / f"{name}.jsonl") for name in PROMPTS}
    items = data.load(
        "validation",
        compose("reproduce", GenerationConfig, ["table=munch_generate", *SAMPLE]).data,
        PathsConfig(),
    ).items[:5]
    for rows in cells.values():
        assert [(row.id, row.answers, row.attributes) for row in rows] == [
            (item.id, item.options, item.attributes) for item in items
        ]
    # The file alone gives the numbers again.
    assert table3.measure(cells) == {
        name: content[name] for name in ("prompts", "over_prompts", "ddof", "max_rank", "best")
    }
    assert content["took"]["read"] < content["took"]["tokens"]
    assert (
        "scoring:first_token(compare=casefold,leading_space=True,max_tokens=3,max_rank=None)|norm:none|form:quote"
        in content["signature"]
    )
    assert not content["published_file"]
    tables = (tmp_path / "out" / "tables.md").read_text()
    assert "Table 3, 5 sentences" in tables
    assert "LLaMA-13B" not in tables  # measured on other sentences
    unexpected = {one.item: one.answer for one in substitutions.unexpected(tmp_path / "out", PathsConfig())}
    assert unexpected == {
        row.id: word
        for row in cells[content["best"]]
        if (word := row.written.strip()) and word not in row.answers
    }


def test_whole_words(run: Run, causal_folder: Path, tmp_path: Path) -> None:
    listed = tmp_path / "words.txt"
    listed.write_text("light\nheavy\n\nlight\n")
    content = run(
        generate_command,
        *("model=causal", "model.bos=add", f"model.name_or_path={causal_folder}", "data.limit=3"),
        *("rank=word", f"candidates={listed}", "prompts=[GASW45]", "max_rank=5"),
    )
    rows = rankings.read(tmp_path / "out" / "rankings" / "GASW45.jsonl")
    # Two candidates and a sentence's own answers are all the words there are.
    assert all(
        sorted(rank for rank in row.ranks if rank)
        and max(rank or 0 for rank in row.ranks) <= len({*row.answers, "light", "heavy"})
        for row in rows
    )
    assert list(content["prompts"]) == ["GASW45"]
    assert "recall@10" not in content["prompts"]["GASW45"]


def test_other_words_are_another_signature(run: Run, causal_folder: Path, tmp_path: Path) -> None:
    listed = tmp_path / "words.txt"
    same = [
        "model=causal",
        "model.bos=add",
        f"model.name_or_path={causal_folder}",
        "data.limit=1",
        "rank=word",
        "prompts=[GASW45]",
    ]
    signatures = []
    for words in ("light", "heavy"):
        listed.write_text(words)
        signatures.append(
            run(generate_command, *same, f"candidates={listed}", f"output={tmp_path / words}")["signature"]
        )
    assert signatures[0] != signatures[1]
    assert "candidates=words.txt@" in signatures[0]


def test_a_folder_holds_one_result_and_an_interrupted_one_goes_on(
    run: Run,
    causal_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made: list[str] = []
    write = rankings.write

    def until_killed(path: Path, rows: Any) -> None:
        made.append(path.stem)
        if len(made) == 2:
            raise KeyboardInterrupt
        write(path, rows)

    monkeypatch.setattr(rankings, "write", until_killed)
    same = [
        "model=causal",
        "model.bos=add",
        f"model.name_or_path={causal_folder}",
        "data.limit=2",
        "max_tokens=2",
    ]
    with pytest.raises(SystemExit):
        run(generate_command, *same)
    content = run(generate_command, *same)
    assert made == ["PTGS54", "UASW92", "UASW92", "GASW45"]
    assert content["took"]["kept"] == ["PTGS54"]
    assert run(generate_command, *same) == content
    assert len(made) == 4
    with pytest.raises(SystemExit):
        run(generate_command, *same, "max_rank=5")
    assert "out holds a finished result with other settings" in capsys.readouterr().err
    assert json.loads((tmp_path / "out" / "metrics.json").read_text()) == content


def test_a_masked_model_fills_masks(run: Run, masked_folder: Path, tmp_path: Path) -> None:
    content = run(
        generate_command,
        "model=encoder",
        "scoring=pll",
        f"model.name_or_path={masked_folder}",
        "data.limit=2",
        "prompts=[PTGS54]",
    )
    assert "|form:insert|" in content["signature"]
    assert content["took"]["read"] is None
    assert all(None not in row.ranks for row in rankings.read(tmp_path / "out" / "rankings" / "PTGS54.jsonl"))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["form=insert"], "no fill-in-the-middle tokens; use form=quote"),
        (["rank=word", "max_tokens=3"], "max_tokens= changes nothing under rank=word"),
        (["candidates=words.txt"], "candidates= changes nothing under rank=first_token"),
        (["rank=word", "candidates=nowhere.txt"], "candidates=nowhere.txt cannot be read"),
        (["prompts=[XX]"], "'XX' is not a generation prompt of MUNCH"),
        (["prompt.k=3"], "prompt.k changes no generation prompt"),
        (["max_rank=0"], "max_rank=0 must be above 0"),
        (["rank=letter"], "rank=letter is not a choice; choose one of first_token, word"),
        (["data.question=word"], "has no answers that people gave"),
        (["model=minilm"], "cannot fill blanks; use a causal model, or scoring=pll"),
    ],
)
def test_a_mistake_is_one_line(
    run: Run, causal_folder: Path, overrides: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    own = [] if "model=minilm" in overrides else ["model=causal", f"model.name_or_path={causal_folder}"]
    assert message in mistake(capsys, run, generate_command, "data.limit=2", *own, *overrides)


def test_figures(run: Run, causal_folder: Path, tmp_path: Path) -> None:
    content = run(figures_command, "vectors=model", "model=causal", f"model.name_or_path={causal_folder}")
    found = content["similarity"]
    rows = [json.loads(line) for line in (tmp_path / "out" / "cosines.jsonl").read_text().splitlines()]
    assert len(rows) == found["triples"] == found["used"] + found["left_out"]
    assert found["pairs"]["target-apt"]["n"] == found["used"]
    genres = content["genres"]
    assert genres["TOTAL"]["n"] == sum(one["n"] for name, one in genres.items() if name != "TOTAL") == 95
    assert sum(one["value"] for one in genres["TOTAL"]["shares"].values()) == pytest.approx(1)
    drawn = {path.name for path in (tmp_path / "out").iterdir()}
    assert {
        "figure3-similarity.svg",
        "figure3-similarity.png",
        "figure8-novelty.svg",
        "figure8-novelty.png",
        "tables.md",
    } <= drawn


def test_figures_without_vectors_leave_figure_3_out(run: Run, tmp_path: Path) -> None:
    assert "similarity" not in run(figures_command)
    assert "Figure 3" not in (tmp_path / "out" / "tables.md").read_text()


def test_figures_are_of_munch(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(figures_command, "data=figqa_sample", "data.question=both")
    assert "is not MUNCH" in capsys.readouterr().err
