"""Train a model, export it, evaluate the export and report: `python train.py model=minilm
data=figqa_large`."""

from figlang.config.entry import lazy

main = lazy("train")

if __name__ == "__main__":
    main()
