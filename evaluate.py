"""Evaluate a run, a checkpoint or a pretrained model: `python evaluate.py model=smollm2 scoring=pmi`."""

from figlang.commands.evaluate import main

if __name__ == "__main__":
    main()
