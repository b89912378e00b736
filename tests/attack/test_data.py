"""Data of every damage: own tables, and the files of the benchmarks."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attack import damage
from tests.attack.attacker import MODULES, QUIET, Attack, cases, check
from tests.processes import preload
from tests.running import ROOT

SAMPLES = ROOT / "figlang" / "samples"
HEAD = "startphrase,ending1,ending2,labels\n"
ROW = "The hall was a tomb,It was silent.,It was loud.,0\n"
PAIR = ROW + "The hall was a fair,It was silent.,It was loud.,1\n"
EVALUATE = ("debug=fast", *QUIET, "model=minilm")

# What an own table holds and what the error says; None where it is read, with a note or without.
TABLES: dict[str, tuple[bytes | str, str | None]] = {
    "good": (HEAD + PAIR, None),
    "empty": ("", "startphrase"),
    "a line break": ("\n", "startphrase"),
    "no rows": (HEAD, "no usable row"),
    "no header": (PAIR, "startphrase"),
    "UTF-16": ((HEAD + PAIR).encode("utf-16"), "UTF-16"),
    "UTF-16 without a mark": ((HEAD + PAIR).encode("utf-16-le"), "own.csv"),
    "UTF-32": ((HEAD + PAIR).encode("utf-32"), "own.csv"),
    "Latin-1": (
        (HEAD + "Das Café war ein Grab,Es war still.,Es war laut.,0\n").encode("latin-1"),
        "line 2 is not UTF-8",
    ),
    "a cut character": ((HEAD + PAIR + "é").encode()[:-1], "not UTF-8"),
    "a surrogate": (HEAD.encode() + b"a\xed\xa0\x80,b,c,0\n", "not UTF-8"),
    "binary": (damage.BINARY, "own.csv"),
    "a workbook": (b"PK\x03\x04" + damage.BINARY, "Excel"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + damage.BINARY, "own.csv"),
    "zipped": (b"\x1f\x8b\x08\x00" + damage.BINARY, "own.csv"),
    "a page": (damage.PAGE, "startphrase"),
    "a pointer": (damage.POINTER, "startphrase"),
    "JSON lines": ('{"startphrase": "a", "ending1": "b", "ending2": "c", "labels": 0}\n', "startphrase"),
    "a column less": ("startphrase,ending1,labels\na,b,0\n", "'ending2'"),
    "a column twice": (HEAD.replace("ending2", "ending1") + ROW, "ending"),
    "a column too many": ("startphrase,ending1,ending2,labels,labels\n" + ROW, "labels"),
    "another name": (HEAD.replace("labels", "label") + ROW, "rename label to labels"),
    "labels 1 and 2": (HEAD + "a,b,c,1\nd,e,f,2\n", "write 0 for ending1"),
    "label 7": (HEAD + "a,b,c,7\n", "7"),
    "label -2": (HEAD + "a,b,c,-2\n", "-2"),
    "label 0.5": (HEAD + "a,b,c,0.5\n", "0.5"),
    "label nan": (HEAD + "a,b,c,nan\n", "nan"),
    "label inf": (HEAD + "a,b,c,inf\n", "inf"),
    "label 1e400": (HEAD + "a,b,c,1e400\n", "1e400"),
    "label of 5,000 digits": (HEAD + f"a,b,c,{'1' * 5000}\n", "own.csv row 1"),
    "label empty": (HEAD + "a,b,c,\n", "own.csv row 1"),
    "label word": (HEAD + "a,b,c,yes\n", "yes"),
    "label Arabic digit": (HEAD + "a,b,c,١\n", None),
    "label superscript": (HEAD + "a,b,c,²\n", "²"),
    "label underscore": (HEAD + "a,b,c,0_0\n", "0_0"),
    "label bool": (HEAD + "a,b,c,True\n", "True"),
    "label an ending": (HEAD + "a,b,c,b\n", "ending"),
    "hidden only": (HEAD + "a,b,c,-1\nd,e,f,-1\n", None),
    "cells empty": (HEAD + ",,,0\n", "own.csv row 1"),
    "cells of blanks": (HEAD + " ,\t,\u00a0,0\n", "own.csv row 1"),
    "cells of nothing to see": (HEAD + "\u200b,\u2060,\ufeff,0\n", None),
    "equal endings": (HEAD + "a,b,b,0\n", None),
    "cells too many": (HEAD + "a,b,c,d,0\n", "own.csv row 1"),
    "cells too few": (HEAD + "a,b,0\n", "own.csv row 1"),
    "a huge cell": (HEAD + f"{'a ' * 100_000},b,c,0\n", "own.csv"),
    "a large cell": (HEAD + f"{'a ' * 50_000},b,c,0\n", None),
    "one line": ("x" * 1_000_000, "own.csv"),
    "an open quote": (HEAD + '"a,b,c,0\n', "quotes"),
    "a quote in a cell": (HEAD + 'a"b",c,d,0\n', None),
    "text after a quote": (HEAD + '"a"b,c,d,0\n', "CSV"),
    "NUL": (HEAD + "a\0b,c,d,0\n", None),
    "NUL only": (b"\0" * 1000, "own.csv"),
    "control characters": (HEAD + "a\x1b[31m\x07,b\x08,c,0\n", None),
    "right to left": (HEAD + "a\u202eb,c,d,0\n", None),
    "separators of lines": (HEAD + "a\u2028b,c\u0085d,e\x0cf,0\n", None),
    "old Mac": ((HEAD + ROW).replace("\n", "\r"), None),
    "Windows": ((HEAD + ROW).replace("\n", "\r\n"), None),
    "a mark": ("\ufeff" + HEAD + ROW, None),
    "marks": ("\ufeff\ufeff" + HEAD + ROW, "startphrase"),
    "tabs": ((HEAD + ROW).replace(",", "\t"), None),
    "bars": ((HEAD + ROW).replace(",", "|"), "startphrase"),
    "a formula": (HEAD + "=cmd|' /C calc'!A0,+b,@c,0\n", None),
    "10,000 columns": (
        "startphrase,ending1,ending2,labels," + ",".join(f"x{n}" for n in range(10_000)) + "\na\n",
        "own.csv row 1",
    ),
    "repeated rows": (HEAD + ROW * 50, None),
    "a contradiction": (HEAD + ROW + ROW.replace(",0\n", ",1\n"), None),
}


def own() -> Iterator[Attack]:
    for name, (content, says) in TABLES.items():
        words = (*EVALUATE, "data=figqa_csv", "data.root=null", "data.validation=own.csv")
        yield Attack(name, "evaluate", words, says, damage.holding("own.csv", content))
    for name, make in damage.ANY.items():
        if name not in ("cut", "missing"):
            continue
        words = (*EVALUATE, "data=figqa_csv", "data.validation=own.csv")
        prepared = [damage.holding("own.csv", HEAD + PAIR), make("own.csv")]
        says = None if name == "cut" else "own.csv"
        yield Attack(
            f"file {name}",
            "evaluate",
            words,
            says,
            lambda home, both=tuple(prepared): [one(home) for one in both],
        )
    for name, make in (("a pipe", damage.pipe), ("a loop", damage.loop), ("a folder", damage.folder)):
        yield Attack(
            name,
            "evaluate",
            (*EVALUATE, "data=figqa_csv", "data.validation=own.csv"),
            "own.csv",
            make("own.csv"),
        )
    for place, path in enumerate(
        ("/dev/zero", "/dev/null", "/dev/stdin", "/proc/self/mem", "/", "", "~", "x" * 300, "x/" * 3000)
    ):
        words = (*EVALUATE, "data=figqa_csv", f"data.validation={path or chr(39) * 2}")
        yield Attack(f"path {place} {path[:12]}", "evaluate", words, "", None)


# In which file each benchmark's evaluation stands, with what it is read by.
FILES: dict[str, tuple[str, tuple[str, ...]]] = {
    "figqa/filtered/dev.csv": ("evaluate", (*EVALUATE, "data=figqa_sample")),
    "figqa/filtered/train.csv": ("train", (*EVALUATE, "data=figqa_sample", "run=run")),
    "figqa/commonsense_annotation/dev.csv": ("evaluate", (*EVALUATE, "data=figqa_sample")),
    "miqa/metaphor_inference_qa.tsv": ("evaluate", (*EVALUATE, "data=miqa_sample")),
    "winogrande/dev.jsonl": ("evaluate", (*EVALUATE, "data=winogrande_m")),
    "winogrande/train_m.jsonl": ("train", (*EVALUATE, "data=winogrande_m", "run=run")),
    "snli/snli_1.0_dev.jsonl": ("evaluate", (*EVALUATE, "data=snli_choice")),
    "snli/snli_1.0_train.jsonl": ("train", (*EVALUATE, "method=nli", "data=snli", "run=run")),
    "mnli/multinli_1.0_train.jsonl": ("train", (*EVALUATE, "method=nli", "data=mnli", "run=run")),
    "anli/R2/train.jsonl": ("train", (*EVALUATE, "method=nli", "data=anli", "run=run")),
    "munch/correct_answers/for_judgement.csv": (
        "evaluate",
        (*EVALUATE, "data=munch_paraphrase", "data.held_out=1"),
    ),
    "munch/correct_answers/for_generation.csv": (
        "munch_figures",
        ("debug=fast", *QUIET, "data=munch_sample"),
    ),
    "munch/derived/pos_from_vua_seq.tsv": ("munch_figures", ("debug=fast", *QUIET, "data=munch_sample")),
}
# Labels are worth less than the rest: without them an evaluation goes on.
OPTIONAL = ("commonsense_annotation", "derived")


def benchmarks() -> Iterator[Attack]:
    for file, (command, words) in FILES.items():
        for name in ("missing", "empty", "cut", "a folder", "binary", "a page", "a loop"):
            says = None if name == "cut" or any(part in file for part in OPTIONAL) else Path(file).stem

            def spoil(home: Path, file: str = file, name: str = name) -> None:
                shutil.copytree(SAMPLES, home / "data")
                damage.ANY[name](f"data/{file}")(home)

            yield Attack(f"{file} {name}", command, (*words, "data.root=data"), says, spoil)


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    preload(*MODULES)


@pytest.mark.parametrize("attack", cases(own()))
def test_an_own_table(tmp_path: Path, attack: Attack) -> None:
    check(tmp_path / "home", attack)


@pytest.mark.parametrize("attack", cases(benchmarks()))
def test_files_of_a_benchmark(tmp_path: Path, attack: Attack) -> None:
    check(tmp_path / "home", attack)
