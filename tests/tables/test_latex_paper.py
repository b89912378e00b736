"""Every table of a report over all tasks, compiled by the real pdflatex in two widths: `make test-paper`."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from figlang.config import PathsConfig, ReportConfig
from figlang.config.composing import data_presets
from figlang.errors import FiglangError
from figlang.reports import assembly
from figlang.runs import results
from figlang.runs.predictions import write_predictions
from figlang.statistics.metrics import measure
from figlang.tables.latex import COLUMN, PAGE
from figlang.tasks import registry
from figlang.types import Prediction, Split

# One data set of every kind that is bundled or, in the folder FIGLANG_DATA, found on this machine.
PRESETS = (
    *("figqa_sample", "miqa_sample", "munch_sample", "figqa_medium", "mabl_hi", "mabl_kn", "impli_choice"),
    *("miqa", "munch_paraphrase", "winogrande_l", "snli_dev_test", "impli"),
)
LONG = "an_organisation-with_a_long_name/and_a_model_whose_name_does_not_end-13B-instruct-v2"
PAPER = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage{booktabs}
\setlength{\textwidth}{%spt}\setlength{\textheight}{620pt}\setlength{\topmargin}{-50pt}
\begin{document}
"""
NAMES = ("errors", "overfull boxes", "too tall")
SHOWN = 200  # items of each data set


def evaluated(folder: Path, preset: str, split: Split, settings: Any, number: int) -> str:
    """A made-up evaluation of a data set; number 1 has a long name."""
    folder.mkdir(parents=True)
    draw = np.random.default_rng(number)
    rows = []
    for item in split.items[:SHOWN]:
        if item.gold is None:
            continue
        scores = draw.normal(size=len(item.options))
        scores[item.gold] += 0.4 * number
        rows.append(Prediction(item.id, item.group, item.gold, tuple(scores.tolist()), dict(item.attributes)))
    write_predictions(folder / "predictions.jsonl", rows)
    model = LONG if number == 1 else "smollm2"
    facts = {"model": model, "base": model, "scoring": "pmi(minus_alone=True)", "norm": "sum"}
    facts |= {"prompt": f"examples(k={number})", "method": "none", "trained": "nothing@none"}
    facts |= {"question": "judgement/word/1"}  # what MUNCH says of its prompts
    content = {
        "signature": "a:b",
        "model": model,
        "data_name": preset,
        "task": split.task,
        "split": "validation",
        "published_file": split.sha256 in registry.task(split.task).published_files(split, "validation"),
        "seed": 0,
        "facts": facts,
        "command": "figlang evaluate",
        "versions": {"python": "3"},
        "metrics": measure(rows),
        "data": results.about_data(settings, {"validation": split}, ()),
    }
    results.write(folder / "metrics.json", content)
    return str(folder)


def tables(folder: Path) -> list[Path]:
    """The LaTeX tables of a report over every data set that is here."""
    runs = []
    folder_of_data = os.environ.get("FIGLANG_DATA")
    for preset in PRESETS:
        if folder_of_data is None and not preset.endswith("_sample"):
            continue
        (settings,) = data_presets([preset])
        try:
            split = registry.load("validation", settings, PathsConfig(data=folder_of_data))
        except FiglangError:  # its files are not on this machine
            continue
        if any(item.gold is not None for item in split.items[:SHOWN]):
            runs += [
                evaluated(folder / preset / str(number), preset, split, settings, number)
                for number in range(3)
            ]
    assembly.write(
        ReportConfig(runs, analysis="off", paths=PathsConfig(data=folder_of_data)), folder / "report"
    )
    return sorted((folder / "report" / "tables").rglob("*.tex"))


def logged(folder: Path, files: list[Path], width: float) -> str:
    """What pdflatex says of tables in lines of this width, in points."""
    engine = shutil.which("pdflatex")
    if engine is None:
        pytest.skip("there is no pdflatex here; apt-get install texlive-latex-base texlive-latex-recommended")
    bodies = [f"\\input{{{file}}}\n\\clearpage" for file in files]
    (folder / "paper.tex").write_text(
        "\n".join([PAPER % width, *bodies, r"\end{document}"]), encoding="utf-8"
    )
    subprocess.run(
        [engine, "-interaction=nonstopmode", "-no-shell-escape", "paper.tex"],
        cwd=folder,
        capture_output=True,
        timeout=300,
        check=False,
    )
    return (folder / "paper.log").read_text(encoding="utf-8", errors="replace")


def test_every_table_of_a_report_fits_a_page_and_a_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if shutil.which("pdflatex") is None:
        pytest.skip("there is no pdflatex here; apt-get install texlive-latex-base texlive-latex-recommended")
    found = tables(tmp_path)
    columns = [file for file in found if file.stem.endswith("-column")]
    faults = []
    for width, files in ((PAGE, [file for file in found if file not in columns]), (COLUMN, columns)):
        log = logged(tmp_path, files, width)
        counts = [
            re.findall(rf"^.*{fault}.*", log, re.MULTILINE)
            for fault in ("^!", "^Overfull", "Float too large")
        ]
        faults += [line for lines in counts for line in lines]
        with capsys.disabled():
            said = ", ".join(f"{len(lines)} {name}" for lines, name in zip(counts, NAMES, strict=True))
            print(f"\n{len(files)} tables in {width:.0f} pt: {said}")
    assert len(found) > 30
    assert faults == []


def test_what_does_not_fit_is_counted(tmp_path: Path) -> None:
    wide = r"\begin{table}\begin{tabular}{l}" + "wide " * 100 + r"\end{tabular}\end{table}"
    (tmp_path / "wide.tex").write_text(wide, encoding="utf-8")
    assert re.search(r"^Overfull", logged(tmp_path, [tmp_path / "wide.tex"], COLUMN), re.MULTILINE)
