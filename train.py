"""Train a model, export it, evaluate the export and report: `python train.py model=minilm
data=figqa_large`."""

from figlang.commands.train import main

if __name__ == "__main__":
    main()
