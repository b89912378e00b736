"""The options of `average`."""

from dataclasses import dataclass, field
from math import isclose

from figlang.config.groups.trainer import PathsConfig, TrainerConfig
from figlang.config.section import COUNT, RUNS, SHARE, Command, Range, option, words
from figlang.errors import FiglangError
from figlang.text.amounts import counted


@dataclass
class AverageConfig(Command):
    """Average the weights of runs that differ in their seed, and write the mean as a run. If the runs have
    adapters, the changes that they make to the network are averaged. With shares= the runs may be of several
    recipes."""

    runs: list[str] = words(RUNS)
    output: str = option("", "Folder of the averaged run.")
    shares: list[float] = words(
        "A share for each run, in their order, 1 together, for example [0.65,0.35]. Runs with shares may "
        "differ in how they were trained (a model soup); their network, data and scoring are the same. If "
        "LoRA without a head has less than 1, the rest is the network as it comes. Empty: equal shares of "
        "seeds of one recipe.",
        within=Range(least=0, most=1),
    )
    rank: int | None = option(
        None,
        "Adapters: rank of the mean. null: the sum of the ranks of all runs, which is exact. Whole dual "
        "encoders: write adapters of this rank over the network that was trained, without its embeddings and "
        "norms.",
        within=COUNT,
    )
    way: str = option(
        "mean",
        "Adapters: how they are put together. ties: keep the largest changes of each, and the sign that most "
        "of them have. dare: drop changes at random and scale up the others. dare_ties: both.",
        ("mean", "ties", "dare", "dare_ties"),
    )
    density: float = option(
        0.5, "ties, dare: share of its changes that each adapter keeps.", within=Range(above=0, below=1)
    )
    start: float = option(
        0.0,
        "Share of what the runs started from (WiSE-FT): a checkpoint, or for LoRA without a head the network "
        "as it comes. The rest is the mean of the runs.",
        within=SHARE,
    )
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.way != "mean" and self.start:
            raise FiglangError(f"way={self.way} cannot be used with start=; leave start= out")
        if self.way == "mean" and self.density != type(self).density:
            raise FiglangError(
                "density= changes nothing under way=mean; add way=ties or dare, or leave it out"
            )
        if self.shares and self.start:
            raise FiglangError("shares= cannot be used with start=; leave one of them out")
        if self.shares:
            self._check_shares()
        if len(self.runs) < (1 if self.start or self.rest else 2) or not self.output:
            raise FiglangError(
                "give two runs or more and a folder: figlang average RUN RUN … output=FOLDER; one "
                "run with start=SHARE or shares=SHARE"
            )

    @property
    def rest(self) -> float:
        """The share of the network as it comes that shares= leaves: 0 if they are 1 together."""
        together = sum(self.shares)
        return 0.0 if not self.shares or isclose(together, 1, abs_tol=1e-6) else 1 - together

    def _check_shares(self) -> None:
        if len(self.shares) != len(self.runs):
            raise FiglangError(
                f"shares= has {counted(len(self.shares), 'number')} for {counted(len(self.runs), 'run')}; "
                "give one for each"
            )
        if self.rest < 0 or self.rest == 1:
            raise FiglangError(
                f"the numbers of shares= are {sum(self.shares):g} together; give numbers that are 1, or less "
                "if the rest is the network as it comes"
            )
