"""Evaluate several checkpoints on several data sets: `checkpoint=runs/a,runs/b data=NAME,NAME`.

It takes what `evaluate.py -m` takes, evaluates every combination, and puts the accuracies into one table and
heat map. If `model=` is given too, the untrained networks are rows of the table. The difference is what the
training changed.
"""

from pathlib import Path

from rich.console import Console

from figlang.config import EvaluateConfig
from figlang.config.combining import Combination
from figlang.config.entry import entry
from figlang.errors import FiglangError
from figlang.evaluation.assessment import assess
from figlang.reports import matrix
from figlang.runs import outputs


@entry("transfer")
def main(combinations: list[Combination[EvaluateConfig]]) -> None:
    _check_places(combinations)
    cells, reports = [], True
    for combination in combinations:
        config, row = combination.config, combination.but("data")
        try:
            assessed = assess(config)
        except FiglangError as error:
            cells.append(
                matrix.MatrixCell(
                    row, config.data.name, config.checkpoint or config.model.name, reason=str(error)
                )
            )
        else:
            if assessed is None:
                reports = False  # one of several processes: the first one reports
            else:
                cells.append(matrix.measured(row, config.data.name, assessed[0]))
    if reports:
        whole = matrix.Matrix.of(cells)
        if not any(cell.metrics for cell in cells):
            raise FiglangError(f"no checkpoint could be evaluated: {'; '.join(whole.reasons)}")
        folder = matrix.write(whole, Path(combinations[0].config.paths.runs) / "transfer")
        matrix.show(whole, folder, Console())


def _check_places(combinations: list[Combination[EvaluateConfig]]) -> None:
    places: dict[Path, Combination[EvaluateConfig]] = {}
    cells: dict[tuple[str, str], Combination[EvaluateConfig]] = {}
    for combination in combinations:
        column = combination.config.data.name
        if (other := cells.setdefault((combination.but("data"), column), combination)) is not combination:
            both = " and ".join(" ".join(each.choices) for each in (other, combination))
            raise FiglangError(
                f"{both} would be one column of the table, {column}; leave out data.name=, and give files "
                "different names"
            )
        place = outputs.place(combination.config)
        if (other := places.setdefault(place, combination)) is not combination:
            both = " and ".join(" ".join(each.choices) for each in (other, combination))
            raise FiglangError(
                f"{both} would overwrite each other in {place}; leave out name=, output= and options that "
                "do not change a number"
            )


if __name__ == "__main__":
    main()
