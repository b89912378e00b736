"""Training from teachers that are networks, on items without a label too, as a user types it."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from figlang.models import manifest as manifests
from tests.running import Ended, run, train

HEADER = "startphrase,ending1,ending2,labels\n"
FRAMES = ("as loud as", "as soft as", "the depth of")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of metaphors with frames, and three teachers: two dual encoders and a causal model."""
    folder = tmp_path_factory.mktemp("networks")
    rows = [
        f"Thing {n} is {FRAMES[n % 3]} image {n},It is much {n // 2}.,It is little {n // 2}.,{n % 2}\n"
        for n in range(24)
    ]
    (folder / "train.csv").write_text(HEADER + "".join(rows))
    (folder / "dev.csv").write_text(
        HEADER + "It was as loud as rain,Loud.,Quiet.,0\nA dry well,Dry.,Wet.,0\n"
    )
    for name, words in (
        ("first", ["method.format=dual"]),
        ("second", ["method.format=dual", "seed=1"]),
        ("words", ["model=gpt2"]),
    ):
        ended = train(folder, f"run=runs/{name}", *files(folder), *words)
        assert ended.returncode == 0, ended.stderr
    return folder


def files(home: Path) -> list[str]:
    return ["data=figqa_csv", f"data.train={home / 'train.csv'}", f"data.validation={home / 'dev.csv'}"]


def student(home: Path, name: str, *words: str) -> Ended:
    return train(home, f"run=runs/{name}", *files(home), "method.epochs=2", "method.batch_size=4", *words)


def read(home: Path, name: str, file: str = "metrics.json") -> dict[str, object]:
    return json.loads((home / "runs" / name / file).read_text())  # type: ignore[no-any-return]


def equal(home: Path, *names: str) -> bool:
    ours, theirs = (load_file(home / "runs" / name / "model" / "model.safetensors") for name in names)
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


WHOLLY = ["method.format=dual", "method.teacher_weight=1"]


def test_a_student_of_two_networks_learns_without_labels(home: Path) -> None:
    both = "method.teacher_model=runs/first,runs/second"
    more = [*WHOLLY, both, "method.similarity_weight=1", "data.recombined=50"]
    ended = student(home, "student", *more)
    assert ended.returncode == 0, ended.stderr
    assert "50 items without a label, made of the contexts of others" in ended.stderr
    assert "all 74 training items have a teacher: 2 teachers an item" in ended.stderr
    found = read(home, "student")
    assert [(one["model"], one["items"]) for one in found["teachers"]] == [("minilm-tiny", 74)] * 2  # type: ignore[attr-defined]
    assert "recombined=50,seed=0" in str(found["signature"])
    card = (home / "runs" / "student" / "model" / "README.md").read_text()
    assert "## Teachers" in card
    assert str(home) not in card
    assert manifests.read(str(home / "runs/student/model"), "x", None).trained_on == (
        "figqa_csv_sample(recombined=50,seed=0)"
    )
    rows = (home / "runs" / "student" / "log.csv").read_text()
    accuracies = [float(row.split(",")[-1]) for row in rows.splitlines() if ",accuracy," in row]
    assert all(0 <= one <= 1 for one in accuracies)
    assert student(home, "student", *more, "skip_finished=true").returncode == 0
    ended = student(home, "student", *more[:-1], "data.recombined=40", "skip_finished=true")
    assert "holds a finished run with other settings (" in ended.stderr
    assert "data.recombined: 50 → 40)" in ended.stderr

    turned = [word.replace("runs/first,runs/second", "runs/second,runs/first/model") for word in more]
    assert student(home, "turned", *turned).returncode == 0
    ours, theirs = (
        load_file(home / "runs" / name / "model/model.safetensors") for name in ("student", "turned")
    )
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pair", ["method.format=pair", "method.teacher_model=runs/first,runs/words"]),
        ("causal", ["model=gpt2", "method.teacher_model=runs/first", "method.anchor=lm"]),
        ("heldout", [*WHOLLY, "method.teacher_model=runs/words", "method.selection=heldout"]),
    ],
)
def test_every_kind_of_model_learns_from_every_kind(home: Path, name: str, words: list[str]) -> None:
    ended = student(home, name, "data.recombined=10", *words)
    assert ended.returncode == 0, ended.stderr
    assert "training items have a teacher" in ended.stderr
    assert read(home, name)["teachers"]


def test_of_no_weight_it_changes_not_a_bit(home: Path) -> None:
    dual = "method.format=dual"
    assert student(home, "plain", dual).returncode == 0
    idle = student(home, "idle", dual, "method.teacher_model=runs/first", "method.teacher_weight=0")
    assert idle.returncode == 0, idle.stderr
    assert equal(home, "plain", "idle")
    assert "teachers" not in read(home, "idle")


def test_results_of_no_weight_are_not_named_beside_networks(home: Path) -> None:
    scored = run(home, "evaluate.py", "checkpoint=runs/words", *files(home), "split=train", "output=scored")
    assert scored.returncode == 0, scored.stderr
    words = ["method.teacher=scored", "method.teacher_model=runs/first", "method.similarity_weight=1"]
    ended = student(home, "similar", "method.format=dual", "method.teacher_weight=0", *words)
    assert ended.returncode == 0, ended.stderr
    assert [one["model"] for one in read(home, "similar")["teachers"]] == ["minilm-tiny"]  # type: ignore[attr-defined]


def test_a_teacher_whose_network_is_on_the_hub_has_a_copy_of_it_in_a_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    ended = train(home, "run=runs/adapted", *files(home), "method.format=dual", "peft=lora", "seed=2")
    assert ended.returncode == 0, ended.stderr
    moved = home / "runs" / "moved"
    shutil.copytree(home / "runs" / "adapted", moved)
    (moved / "model" / "base").rename(home / "below")
    for name, more in (
        ("adapter_config.json", {"base_model_name_or_path": "figlang-tests/nobody-has-this"}),
        ("figlang.json", {"base": "figlang-tests/nobody-has-this"}),
    ):
        path = moved / "model" / name
        path.write_text(json.dumps(json.loads(path.read_text()) | more))
    words = [*WHOLLY, "method.teacher_model=runs/moved,runs/second"]
    alone = student(home, "alone", *words)
    assert (alone.returncode, "Traceback" in alone.stderr) == (2, False)
    assert "that of a teacher by method.teacher_base=FOLDER" in alone.stderr
    for name, teacher, more in (
        ("here", "adapted", []),
        ("there", "moved", [f"method.teacher_base={home}/below"]),
    ):
        ended = student(home, name, *WHOLLY, f"method.teacher_model=runs/{teacher},runs/second", *more)
        assert ended.returncode == 0, ended.stderr
    assert equal(home, "here", "there")
    recipes = [read(home, name, "recipe.json") for name in ("here", "there")]
    assert recipes[0] == recipes[1]
    other = student(home, "other", *words, f"method.teacher_base={home}/runs/first/model")
    assert other.returncode == 2
    assert "runs/moved" in other.stderr


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            ["method.teacher_model=nowhere"],
            "method.teacher_model=nowhere is not the folder of a finished run",
        ),
        (["data.recombined=5"], "which only teachers can teach; add method.teacher_model=CHECKPOINT"),
        (
            ["data.recombined=5", "method.teacher_model=runs/first", "method.teacher_weight=0"],
            "method.teacher_weight above 0",
        ),
        (
            [
                "data.recombined=5",
                "method.teacher_model=runs/first",
                "method.format=dual",
                "method.direction=both",
            ],
            "method.direction=both and negatives=batch need one",
        ),
        (["method.similarity_weight=1"], "changes nothing without method.teacher_model=CHECKPOINT"),
        (
            ["method.similarity_weight=1", "method.teacher_model=runs/first", "method.format=pair"],
            "method.similarity_weight is for encoders with method.format=dual",
        ),
        (
            ["method.similarity_weight=1", "method.teacher_model=runs/words", "method.format=dual"],
            "reads a context with its options",
        ),
        (
            [
                *("method.similarity_weight=1", "method.teacher_model=runs/first", "method.format=dual"),
                "method.accumulate=2",
            ],
            "method.similarity_weight=1 compares all items of a step",
        ),
        (["method=lm", "model=gpt2", "method.teacher_model=runs/first"], "method.teacher_model is for"),
    ],
)
def test_what_cannot_be_is_one_line(home: Path, words: list[str], error: str) -> None:
    ended = train(home, "run=runs/wrong", *files(home), *words)
    assert ended.returncode == 2
    assert error in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (home / "runs" / "wrong").exists()
