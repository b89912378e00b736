"""What ten items of Fig-QA medium take, from the command to the numbers: CPU seconds of the whole process.

`python -m benchmarks.starting --rounds 6 [PYTHON …]`. It is run in turns with `import torch`, since the speed
of a machine changes. Pythons of several environments, each with a `figlang` beside it, compare versions.
FIGLANG_DATA names the folder of the data sets.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

from benchmarks.load import busy

ROOT = Path(__file__).resolve().parents[1]
TEN = [f"checkpoint={ROOT / 'checkpoints/minilm-figqa-large'}", "data=figqa_medium", "data.limit=10"]


def spent(words: list[str], folder: Path) -> float:
    """The CPU seconds of a process and its children, in user and system mode. It runs in `folder`."""
    before = getrusage(RUSAGE_CHILDREN)
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(words, cwd=folder, env=kept | {"OMP_NUM_THREADS": "1"}, capture_output=True, check=True)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--load", type=int, default=0, help="busy processes beside all commands")
    parser.add_argument("pythons", nargs="*", default=[sys.executable], help="Pythons beside a `figlang`")
    given = parser.parse_args()
    torch = [given.pythons[0], "-c", "import torch"]
    figlangs = [str(Path(python).with_name("figlang")) for python in given.pythons]
    seconds: dict[str, list[float]] = {name: [] for name in ("import torch", *figlangs)}
    with tempfile.TemporaryDirectory() as name, busy(given.load):
        folder = Path(name)
        for _ in range(given.rounds):
            seconds["import torch"].append(spent(torch, folder))
            for figlang in figlangs:
                words = [figlang, "evaluate", *TEN, "output=out", "overwrite=true"]
                seconds[figlang].append(spent(words, folder))
    alone = median(seconds["import torch"])
    for name, each in seconds.items():
        ratio = median(each) / alone
        print(f"{name}: median {median(each):.2f}, least {min(each):.2f} CPU-s, {ratio:.2f} times torch")


if __name__ == "__main__":
    main()
