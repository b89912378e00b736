"""Several evaluations of one command are set beside each other."""

from pathlib import Path

import pytest

from evaluate import main as evaluate_command
from tests.stub_server import MODEL, Stub, serving

pytest.importorskip("openai", reason="needs the extra `served`")


def test_prompts_of_a_served_model_end_in_one_table_with_paired_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(Stub(completes=False, reply=lambda message: "B" if "Q: " in message else "A")) as stub:
        words = ["model=served", f"model.endpoint={stub.url}", f"model.name={MODEL}", "paths.cache=cache"]
        asked = ["data=miqa_sample", "data.limit=8", "scoring=letter", "blind=false"]
        quiet = ["trainer=cpu", "trainer.progress=false", "trainer.threads=1"]
        monkeypatch.setattr(
            "sys.argv", ["evaluate.py", "-m", *words, *asked, *quiet, "prompt=miqa_numbered,miqa_qa"]
        )
        evaluate_command()
    shown = capsys.readouterr().out
    place = shown.index("Every two systems")
    for row in ("numbered", "qa"):
        assert row in shown[:place].rpartition("Systems")[2], "ranked"
        assert row in shown[place:], "compared"
    assert "Holm" in shown[place:]
