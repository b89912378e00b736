"""Files of one's own in `also=`: they are evaluated as by data=, each in a folder of its own."""

from pathlib import Path

from tests.documents import metrics_of
from tests.running import run, train

ROWS = "context,option1,option2,gold\nShe froze,She was afraid,She was calm,0\n"
TRAINED = ("data=winogrande_m", "method.format=pair", "run=run")


def test_a_training_is_evaluated_on_files_of_ones_own_too(tmp_path: Path) -> None:
    for folder in ("mine", "theirs"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "sayings.csv").write_text(ROWS)
    ended = train(tmp_path, *TRAINED, "also=[mine/sayings.csv,theirs/sayings.csv]")
    assert "mine/sayings.csv and theirs/sayings.csv would both be evaluations/sayings-" in ended.stderr
    assert not (tmp_path / "run").exists()

    ended = train(tmp_path, *TRAINED, "also=[mine/sayings.csv,figqa_medium]")
    assert ended.returncode == 0, ended.stderr
    evaluations = tmp_path / "run" / "evaluations"
    assert (evaluations / "figqa_medium_sample-validation").is_dir()
    own = metrics_of(evaluations / "sayings-validation")
    words = ("data=mine/sayings.csv", "trainer=cpu", "trainer.progress=false", "name=by_hand")
    ended = run(tmp_path, "evaluate.py", "checkpoint=run", *words)
    assert ended.returncode == 0, ended.stderr
    by_hand = metrics_of(evaluations / "by_hand")
    assert own["metrics"]["accuracy"]["n"] == 1
    assert (own["metrics"], own["facts"]) == (by_hand["metrics"], by_hand["facts"])
