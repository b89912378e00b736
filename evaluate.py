"""Evaluate a run, a checkpoint or a pretrained model: `python evaluate.py model=smollm2 scoring=pmi`."""

from figlang.config.entry import lazy
from figlang.machine.process import run

main = lazy("evaluate")

if __name__ == "__main__":
    run(main)
