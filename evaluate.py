"""Evaluate a run or a released checkpoint (`checkpoint=runs/…`), or a pretrained model zero-shot (`model=smollm2 scoring=pmi`)."""

from rich.console import Console

from figlang import assessment, figures, results
from figlang.command import entry
from figlang.config import EvaluateConfig


@entry("evaluate", EvaluateConfig)
def main(config: EvaluateConfig) -> None:
    assessed = assessment.assess(config)
    if assessed is None:
        return  # one of several processes: the first one reports
    content, folder = assessed
    console = Console()
    results.show(content, folder, console)
    for picture in figures.prompts(folder):
        console.print(str(picture), style="bold", soft_wrap=True, highlight=False, markup=False, emoji=False)


if __name__ == "__main__":
    main()
