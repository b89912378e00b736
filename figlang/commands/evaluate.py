"""Evaluate a run, a checkpoint or a pretrained model: `checkpoint=runs/…`, or `model=smollm2 scoring=pmi`."""

from rich.console import Console

from figlang.config import EvaluateConfig
from figlang.config.entry import entry
from figlang.evaluation import assessment
from figlang.report import figures, showing


@entry("evaluate")
def main(config: EvaluateConfig) -> None:
    assessed = assessment.assess(config)
    if assessed is None:
        return  # one of several processes: the first one reports
    content, folder = assessed
    console = Console()
    showing.show(content, folder, console)
    for picture in figures.prompts(folder):
        console.print(str(picture), style="bold", soft_wrap=True, highlight=False, markup=False, emoji=False)


if __name__ == "__main__":
    main()
