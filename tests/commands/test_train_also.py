"""`also=`: a training is evaluated on other data sets and on files of one's own, as evaluate.py does it."""

from pathlib import Path

import pytest

from tests.documents import metrics_of
from tests.running import Ended, run, train

ROWS = ["it is a,great,small,0", "it is b,great,small,1", "it is c,hot,cold,0", "it is d,hot,cold,1"]
WORDS = ("data=winogrande_m", "method.format=pair")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two tables of one name."""
    folder = tmp_path_factory.mktemp("beside")
    for name in ("sayings", "others"):
        (folder / name).mkdir()
        (folder / name / "few.csv").write_text("\n".join(["startphrase,ending1,ending2,labels", *ROWS]))
    return folder


def trained(home: Path, also: str, *words: str) -> Ended:
    return train(home, *WORDS, "run=runs/mine", f"also={also}", *words)


def test_a_file_of_ones_own_is_evaluated_beside_presets(home: Path) -> None:
    ended = trained(home, "figqa_sample,sayings/few.csv,figqa_sample")
    assert ended.returncode == 0, ended.stderr
    done = home / "runs" / "mine"
    own = metrics_of(done / "evaluations" / "few-validation")
    assert (own["data_name"], own["metrics"]["accuracy"]["n"]) == ("few", 4)
    ended = run(
        home, "evaluate.py", "checkpoint=runs/mine", "data=sayings/few.csv", "name=by_hand", "trainer=cpu"
    )
    assert ended.returncode == 0, ended.stderr
    by_hand = metrics_of(done / "evaluations" / "by_hand")
    assert own["metrics"] == by_hand["metrics"]
    assert own["signature"] == by_hand["signature"]
    # A preset with a folder of its own is read there, and its name says already that it is a sample.
    assert metrics_of(done / "evaluations" / "figqa_sample-validation")["data_name"] == "figqa_sample"


@pytest.mark.parametrize(
    ("also", "said"),
    [
        ("figqa_huge", "figqa_huge is neither a preset of data= nor a file of items"),
        ("sayings/none.csv", "no such file: sayings/none.csv; did you mean sayings/few.csv?"),
        (
            "sayings/few.csv,others/few.csv",
            "also=sayings/few.csv,others/few.csv are two data sets of one name, few, so their results would",
        ),
    ],
)
def test_data_that_cannot_be_evaluated_are_refused_before_training(home: Path, also: str, said: str) -> None:
    ended = trained(home, also, "run=runs/none")
    assert ended.returncode == 2
    assert said in ended.stderr.splitlines()[-1]
    assert not (home / "runs" / "none").exists()


def test_a_setting_that_only_one_of_them_reads_is_taken(home: Path) -> None:
    ended = trained(home, "munch_paraphrase", "data.held_out=0.5", "run=runs/held", "data.limit=8")
    assert ended.returncode == 0, ended.stderr
    (evaluated,) = (home / "runs" / "held" / "evaluations").iterdir()
    assert "held_out=0.5" in metrics_of(evaluated)["signature"]
    ended = trained(home, "miqa_sample", "data.held_out=0.5", "run=runs/none")
    assert "data.held_out=0.5, which has no effect" in ended.stderr
    assert not (home / "runs" / "none").exists()
