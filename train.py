"""Train a model, export it, evaluate the export and report: `python train.py model=minilm
data=NAME`."""

from figlang.config.entry import lazy
from figlang.machine.process import run

main = lazy("train")

if __name__ == "__main__":
    run(main)
