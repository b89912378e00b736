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
from figlang.machine.several import shortly
from figlang.reports import matrix
from figlang.runs import outputs
from figlang.tasks import unread


@entry("transfer")
def main(combinations: list[Combination[EvaluateConfig]]) -> None:
    _check_places(combinations)
    configs = [one.config for one in combinations]
    unread.check([one.data for one in configs], *(one.paths for one in configs))
    with shortly():
        found = {place: _cell(combinations[place]) for place in _by_network(combinations)}
    cells = [found[place] for place in range(len(combinations))]
    made = [cell for cell in cells if cell is not None]
    if len(made) == len(cells):  # one of several processes: the first one reports
        whole = matrix.Matrix.of(made)
        if not any(cell.metrics for cell in made):
            raise FiglangError(f"no checkpoint could be evaluated: {'; '.join(whole.reasons)}")
        folder = matrix.write(whole, Path(combinations[0].config.paths.runs) / "transfer")
        matrix.show(whole, folder, Console())


def _by_network(combinations: list[Combination[EvaluateConfig]]) -> list[int]:
    """Places of the combinations, those of a network after each other, so that it is opened once."""
    keys = [repr((one.config.checkpoint, one.config.model, one.config.seed)) for one in combinations]
    return sorted(range(len(keys)), key=lambda place: keys.index(keys[place]))


def _cell(combination: Combination[EvaluateConfig]) -> matrix.MatrixCell | None:
    """The result of a combination, or the reason why it has none. None in all processes but the first."""
    config, row = combination.config, combination.but("data")
    try:
        assessed = assess(config)
    except FiglangError as error:
        name = config.checkpoint or config.model.name
        return matrix.MatrixCell(row, config.data.name, name, reason=str(error))
    return None if assessed is None else matrix.measured(row, config.data.name, assessed[0])


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
