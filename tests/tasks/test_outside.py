"""A benchmark in one folder outside of figlang: idioms with four options, a published number, a breakdown."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

import figlang
from figlang.commands.compare import main as compare_command
from figlang.commands.report import main as report_command
from figlang.commands.reproduce import main as reproduce_command
from figlang.commands.tasks import main as tasks_command
from figlang.config import DataConfig, ModelConfig, PathsConfig, PromptConfig, ScoringConfig
from figlang.config.verbs.reproduce import RankingConfig
from figlang.errors import FiglangError
from figlang.evaluation import predicting
from figlang.evaluation.how import How, Share
from figlang.models import checkpoint
from figlang.tasks import outside, registry
from figlang.tasks.examples import Pool
from figlang.tasks.questions import Questions
from figlang.types import Item
from tests import causal_models, masked_models
from tests.running import run, train
from tests.stub_server import Stub, serving

TASK = '''
"""Idioms with four meanings each."""

from dataclasses import replace
from hashlib import sha256
from json import loads
from pathlib import Path

from figlang.config.verbs.reproduce import ReproduceConfig
from figlang.tables import Number, Table
from figlang.tasks import lettered, reference
from figlang.tasks.grid import LetterGrid
from figlang.tasks.questions import Questions
from figlang.tasks.task import Task
from figlang.types import Blank, Item, Marked, Prompted, Split

HERE = Path(__file__).parent


class Meanings(Questions):
    orders = "all"

    def settled(self, prompt):
        return super().settled(replace(prompt, question="four_meanings"))

    def letters(self, items, share, prompt, pool, orders, blind=False):
        return lettered.as_asked([Prompted(item, self.worded(item, blind), ()) for item in share])

    def worded(self, item, blind):
        listed = "".join(f"\\n({letter}) {option}" for letter, option in zip("ABCD", item.options))
        return ("What does it mean?" if blind else f"What does {item.context!r} mean?") + listed


class Words(Questions):
    fills = True
    instead = "leave data.question out"

    def blanks(self, items, name, form):
        return [Blank(item, f"{item.context}. {name}: ", "") for item in items]


class Table1Config(ReproduceConfig):
    """Table 1 of the idioms."""


class Table1(LetterGrid[Table1Config]):
    table = "idioms_table1"
    heading = "Idioms"
    options = Table1Config
    presets = {"data": "figqa_sample", "prompt": "munch"}

    def ask(self, items):
        return {"meaning": items}

    def measure(self, cells):
        rows = cells["meaning"]
        return {"right": sum(bool(row.correct) for row in rows) / len(rows)}

    def tables(self, content):
        return [Table("table1", "Idioms", ("right",), ((Number(content["right"]),),))]

    def below(self, content):
        return []


class Idioms(Task):
    reproduced = (Table1,)
    name = "idioms"
    title = "Idioms"
    mixed_as = "both"
    questions = ("both", "word")

    def load(self, split, data, paths):
        path = HERE / f"{split}.jsonl"
        rows = [loads(line) for line in path.read_text().splitlines()]
        items = tuple(
            Item(
                row["id"],
                row["id"],
                row["idiom"],
                tuple(row["meanings"]),
                row["right"],
                {"about": (row["about"],)},
            )
            for row in rows
        )
        if data.question == "word":
            filled = {row["id"]: tuple(row["words"]) for row in rows}
            items = tuple(
                Marked(item.id, item.group, item.context, filled[item.id], None, target=(0, 1), blank=True)
                for item in items
            )
        return Split(f"idioms_{split}", items, str(path), sha256(path.read_bytes()).hexdigest())

    def asked(self, question):
        return Words() if question == "word" else Meanings()

    def published_files(self, split, role):
        return (split.sha256,)

    def published(self, content):
        return [
            reference.Comparison(row, content["published_file"], "")
            for row in reference.results(HERE)
        ]
'''
PUBLISHED = """paper,table,benchmark,model,setting,metric,value,unit,note
idioms2020,Table 1,Idioms,Human,split=validation,accuracy,91.5,percent,
idioms2020,Table 1,Idioms,Parrot 1B,split=validation,accuracy,40.25,percent,
"""
IDIOMS = ("He kicked the bucket", "She spilled the beans", "They broke the ice", "It costs an arm and a leg")
WORDS = ("died", "confessed", "talked", "dear")
MEANINGS = ("he died", "she told the secret", "they began to talk", "it is dear")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("outside") / "idioms"
    place.mkdir()
    (place / "task.py").write_text(TASK)
    (place / "published.csv").write_text(PUBLISHED)
    for split, count in (("train", 24), ("validation", 12)):
        rows = [
            {
                "id": f"{split}-{n}",
                "idiom": f"{IDIOMS[n % 4]}, {split} {n}",
                "meanings": MEANINGS,
                "words": WORDS[: 2 + n % 3],
                "right": n % 4,
                "about": ("people", "things")[n % 4 == 3],
            }
            for n in range(count)
        ]
        (place / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return place


@pytest.fixture(scope="module")
def home(folder: Path) -> Path:
    """A folder with two runs that were trained on the benchmark: a dual encoder and a causal model."""
    place = folder.parent
    for name, words in (("dual", ["model=minilm"]), ("causal", ["model=gpt2", "method=lm"])):
        with patch.dict(registry.TASKS):
            ended = train(place, *data(folder), *words, f"run=runs/{name}/seed0")
        assert ended.returncode == 0, ended.stderr
    return place


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """The table of tasks is as it was for every other test."""
    with patch.dict(registry.TASKS):
        yield


def data(folder: Path) -> list[str]:
    return [f"paths.tasks={folder}", "data.name=idioms", "data.dataset=idioms"]


def test_training_names_the_task_and_breaks_its_accuracy_down(home: Path) -> None:
    for name in ("dual", "causal"):
        content = json.loads((home / "runs" / name / "seed0" / "metrics.json").read_text())
        assert content["task"] == "idioms"
        assert content["published_file"]
        assert content["metrics"]["accuracy"]["n"] == 12
        assert content["metrics"]["accuracy"]["chance"] == 0.25
        assert set(content["metrics"]["accuracy_by"]["about"]) == {"people", "things"}


def test_a_causal_model_is_asked_after_examples_beside_the_published_number(home: Path, folder: Path) -> None:
    words = ["checkpoint=runs/causal/seed0", "prompt=k1", "output=examples", "trainer.progress=false"]
    ended = run(home, "evaluate.py", *data(folder), *words)
    assert ended.returncode == 0, ended.stderr
    assert "Parrot 1B" in ended.stdout
    assert "40.25" in ended.stdout
    content = json.loads((home / "examples" / "metrics.json").read_text())
    assert "k=1" in content["facts"]["prompt"]
    assert len((home / "examples" / "predictions.jsonl").read_text().splitlines()) == 12


def test_figlang_tasks_lists_and_counts_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [f"paths.tasks={folder}", f"output={tmp_path}/counts.csv"]
    for more, numbers in ([], "not counted"), (["count=true", "task=idioms"], "24 / 12 / – items, 4 options"):
        monkeypatch.setattr("sys.argv", ["tasks", *words, *more])
        tasks_command()
        shown = capsys.readouterr().out
        assert f"idioms:\n  data.dataset=idioms         {numbers}\n      Idioms\n" in shown
        assert ("data=figqa_medium" in shown) is not bool(more)
        assert "paths.tasks=FOLDER" in shown
    assert (tmp_path / "counts.csv").read_text().splitlines()[1:] == ["idioms,24,12,,4"]
    monkeypatch.setattr("sys.argv", ["tasks", words[0], "task=idiom"])
    with pytest.raises(SystemExit):
        tasks_command()
    assert "did you mean idioms?" in capsys.readouterr().err


def test_a_masked_model_scores_the_meanings(home: Path, folder: Path) -> None:
    words = ["model=bert", "model.init=tiny", "scoring=pll", "output=masked", "trainer.progress=false"]
    ended = run(home, "evaluate.py", *data(folder), *words)
    assert ended.returncode == 0, ended.stderr
    lines = (home / "masked" / "predictions.jsonl").read_text().splitlines()
    assert [len(json.loads(line)["scores"]) for line in lines] == [4] * 12
    content = json.loads((home / "masked" / "metrics.json").read_text())
    assert content["facts"]["scoring"].startswith("pll(")


@pytest.mark.parametrize("family", ["causal", "encoder"])
def test_words_are_ranked_at_its_blanks(folder: Path, tmp_path: Path, family: str) -> None:
    asked = DataConfig(name="idioms", dataset="idioms", question="word")
    split = registry.load("validation", asked, PathsConfig(tasks=str(folder)))
    causal, letters = family == "causal", masked_models.bytes_()
    network = (
        causal_models.network("llama")
        if causal
        else masked_models.network("roberta", letters, max_position_embeddings=200)
    )
    network.save_pretrained(tmp_path)
    (causal_models.tokenizer() if causal else letters).save_pretrained(tmp_path)
    model = ModelConfig(name_or_path=str(tmp_path), family=family, bos="add" if causal else "auto")
    loaded = checkpoint.pretrained(model, None if causal else ScoringConfig("pll", kind="pll"), "cache")
    with pytest.raises(FiglangError, match=r"has no options to choose from; leave data\.question out"):
        predicting.answer(loaded, split, How())
    ranking = RankingConfig(rank="word" if causal else None)
    how = How(prompt=PromptConfig(question="In a word"), ranking=ranking)
    whole, share = Share(split, range(12)), Share(split, range(6, 12))
    ranks = predicting.answering(loaded, share.questions)
    rows, facts = ranks.answer(share, how)
    assert facts["scoring"].startswith("word(")
    assert rows.ranked is not None
    assert list(rows.ranked.positions) == list(range(6, 12))
    for row, item in zip(rows.ranked.rows, share.items, strict=True):
        assert (row.id, row.answers) == (item.id, item.options)
        assert len(set(row.ranks)) == len(row.answers)
        assert set(row.ranks) <= {1, 2, 3, 4}
    # A process ranks its share among the answers of all items.
    every = ranks.answer(whole, how)[0].ranked
    assert every is not None
    assert rows.ranked.rows == every.rows[6:]


def test_an_nli_network_is_asked_whether_the_idiom_entails_a_meaning(home: Path, folder: Path) -> None:
    words = ["method=nli", "data=snli", "data.root=package:figlang/samples", "run=runs/nli/seed0"]
    ended = train(home, *words)
    assert ended.returncode == 0, ended.stderr
    words = ["checkpoint=runs/nli/seed0", "output=entailed", "trainer.progress=false"]
    ended = run(home, "evaluate.py", *data(folder), *words)
    assert ended.returncode == 0, ended.stderr
    lines = (home / "entailed" / "predictions.jsonl").read_text().splitlines()
    assert [len(json.loads(line)["scores"]) for line in lines] == [4] * 12


def test_a_model_behind_an_endpoint_replies_by_letter(home: Path, folder: Path) -> None:
    with serving(Stub(reply=lambda message: "C")) as stub:
        words = [*stub.words, "scoring=letter"]
        ended = run(
            home,
            "evaluate.py",
            *data(folder),
            *words,
            "output=letters",
            "trainer.progress=false",
            "blind=false",
        )
        assert ended.returncode == 0, ended.stderr
        assert "(D) it is dear" in json.dumps(stub.seen[0])
    content = json.loads((home / "letters" / "metrics.json").read_text())
    assert content["metrics"]["accuracy"]["value"] == 0.25
    assert content["facts"]["prompt"].startswith("four_meanings(")


def test_runs_are_compared_and_reported(
    home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(home)
    runs = ["runs/dual/seed0", "runs/causal/seed0"]
    monkeypatch.setattr(sys, "argv", ["compare.py", *runs])
    compare_command()
    assert "accuracy" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["report.py", *runs, f"paths.tasks={folder}", "output=report"])
    report_command()
    page = (home / "report" / "report.html").read_text()
    assert "Parrot 1B" in page
    assert "He kicked the bucket" in page
    assert (home / "report" / "tables" / "by_about.csv").is_file()
    assert "Fig-QA" not in page


def test_a_table_of_its_paper_is_reproduced(
    home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(home)
    words = [*data(folder), "table=idioms_table1", "output=table1"]
    with serving(Stub(reply=lambda message: "C")) as stub:
        words += [*stub.words, "scoring=letter"]
        monkeypatch.setattr(sys, "argv", ["reproduce.py", *words])
        reproduce_command()
    assert "right" in capsys.readouterr().out
    assert json.loads((home / "table1" / "metrics.json").read_text())["right"] == 0.25
    assert "right" in (home / "table1" / "tables.md").read_text()


def test_letters_of_more_than_two_options_need_a_question_of_their_own() -> None:
    item = Item("idiom-1", "idiom-1", IDIOMS[0], MEANINGS, 3)
    with pytest.raises(FiglangError, match="idiom-1 has 4 options, and the question of scoring=letter"):
        Questions().letters([item], [item], PromptConfig(question="meaning"), Pool(), "both")


def test_python_reads_it_by_its_name(folder: Path) -> None:
    items = figlang.load("idioms", split="train", tasks=folder, limit=4)
    assert (len(items), len(items[0].options), items.name) == (4, 4, "idioms")
    found = figlang.open_model("minilm", init="tiny").predict(items)
    assert found.about["task"] == "idioms"
    assert f"paths.tasks={folder}" in found.about["command"]
    with pytest.raises(FiglangError, match="data=idiom is not a preset"):
        figlang.load("idiom", tasks=folder)


def test_a_task_is_not_there_without_its_folder() -> None:
    with pytest.raises(FiglangError, match=r"data\.dataset=idioms is not a choice; choose one of figqa"):
        registry.load("train", DataConfig(name="idioms", dataset="idioms"), PathsConfig())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no task.py in paths.tasks="),
        ("import nothing_of_the_kind", "task.py fails \\(ModuleNotFoundError: "),
        ("x = 1", "holds no subclass of figlang.tasks.task.Task with a name"),
        (
            "from figlang.tasks.task import Task\n\n\nclass Own(Task):\n    name = 'miqa'\n",
            "a task called 'miqa' exists already",
        ),
    ],
)
def test_a_folder_that_is_no_task_is_one_line(tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / "task.py").write_text(text)
    with pytest.raises(FiglangError, match=said) as raised:
        registry.find(PathsConfig(tasks=str(tmp_path)))
    assert "\n" not in str(raised.value)


def test_a_package_names_its_task_as_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        name, value = "proverbs", "proverbs:Proverbs"

        def load(self) -> type[registry.Task]:
            return type("Proverbs", (registry.Task,), {"name": "proverbs", "mixed_as": "both"})

    monkeypatch.setattr(outside, "entry_points", lambda group: [Point()] * (group == "figlang.tasks"))
    outside.installed.cache_clear()
    with pytest.raises(FiglangError, match=r"data\.mix has no part 'proverb'; .*, proverbs$"):
        registry.check(DataConfig(dataset="mix", mix={"proverb": 1.0}))
    registry.check(DataConfig(dataset="mix", mix={"proverbs": 1.0}))
    assert registry.task("proverbs").name == "proverbs"
    assert [each.name for each in registry.others(PathsConfig())] == ["proverbs"]
    outside.installed.cache_clear()
