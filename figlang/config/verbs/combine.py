"""The options of `combine`."""

from dataclasses import dataclass

from figlang.config.section import AMOUNT, RUNS, Command, option, words
from figlang.errors import FiglangError
from figlang.text.amounts import counted


@dataclass
class CombineConfig(Command):
    """Combine the results of several systems on the same items: their scores are multiplied by weights and
    added, which is a log-linear combination. The result is a folder that compare and report read as one
    system."""

    runs: list[str] = words(RUNS)
    weights: list[float] = words(
        "A factor for each system, in the order of the runs. Empty: fitted if fit= is given, else equal.",
        within=AMOUNT,
    )
    fit: list[str] = words(
        "Results of the same systems on held-out items, in the order of the runs, to which the weights are "
        "fitted. If the held-out items have a second part, its results follow in the same order."
    )
    output: str = option("", "Folder of the combined results.")
    name: str | None = option(None, "Name of the combination in reports. null: made of the systems' names.")
    overwrite: bool = option(False, "Replace a finished result of other settings.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.runs or not self.output:
            raise FiglangError(
                "give results and a folder: figlang combine RESULTS RESULTS … output=FOLDER, and "
                "fit=RESULTS,RESULTS on held-out items for the weights"
            )
        if self.weights and self.fit:
            raise FiglangError("weights= and fit= both say the weights; give one of them")
        if self.weights and len(self.weights) != len(self.runs):
            raise FiglangError(
                f"weights= has {counted(len(self.weights), 'number')} for "
                f"{counted(len(self.runs), 'system')}; give one for each"
            )
        if self.weights and not any(self.weights):
            raise FiglangError("every number of weights= is 0, so nothing would be chosen; raise one")
