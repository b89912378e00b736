"""Systems set beside each other on the same items, with paired tests."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from figlang import tables
from figlang.api.quiet import quietly
from figlang.api.shown import Shown
from figlang.api.sources import Source, placed
from figlang.api.tabular import to_pandas
from figlang.errors import FiglangError
from figlang.files import folders
from figlang.reports import differences
from figlang.reports.parts import in_pairs
from figlang.runs import sharing, systems
from figlang.statistics.comparison import Agreement, Compared, Difference
from figlang.tables import Table

MOST = 10  # pairs of systems that are shown; more are in the files


class Comparison(Shown):
    """Systems on the same items: every two of them with a paired test.

    Attributes:
        names: The systems, in the order in which they were given. Runs that differ only in their seed are
            one.
        ids: The ids of the items.
        pairs: Every two systems, by their places in `names`; differences are those of `second` minus
            `first`.
        ranking: The systems, the best first, with letters for groups in which no
            difference was found.
        table: A row for every two systems.
        notes: Sentences that a reader of the tables needs.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        ids: tuple[str, ...],
        pairs: tuple[Compared, ...],
        ranking: Table,
        table: Table,
        notes: tuple[str, ...],
    ) -> None:
        self.names, self.ids, self.pairs = names, ids, pairs
        self.ranking, self.table, self.notes = ranking, table, notes

    @property
    def difference(self) -> Difference:
        """How much better the second of two systems is than the first: the difference of their accuracies
        (from -1 to 1), its 95 % interval and p."""
        return self._only().items

    @property
    def pair_difference(self) -> Difference | None:
        """The same for pair accuracy; None without pairs."""
        return self._only().pairs

    @property
    def agreement(self) -> Agreement:
        """How often two systems choose the same option."""
        return self._only().agreement

    def _only(self) -> Compared:
        if len(self.pairs) != 1:
            raise FiglangError(
                f"{len(self.names)} systems are compared; see pairs, which has every two of them"
            )
        return self.pairs[0]

    def to_pandas(self) -> Any:
        """A pandas DataFrame with a line for every two systems. Differences are from -1 to 1."""
        return to_pandas([self._row(one) for one in self.pairs])

    def _row(self, one: Compared) -> dict[str, Any]:
        pairs = {} if one.pairs is None else {"pair_difference": one.pairs.value, "pair_p": one.pairs.p}
        return {
            "system": self.names[one.second],
            "against": self.names[one.first],
            "difference": one.items.value,
            "low": one.items.low,
            "high": one.items.high,
            "p": one.items.p,
            "p_holm": one.items_holm,
            "n": one.items.n,
            **pairs,
            "same_choice": one.agreement.share,
            "kappa": one.agreement.kappa,
        }

    def write(self, folder: str | Path) -> Path:
        """Write the tables as Markdown, CSV and LaTeX.

        Args:
            folder: The folder. A comparison in it is replaced.

        Returns:
            The folder.
        """
        with folders.replaced(Path(folder).expanduser(), "a comparison") as new:
            tables.write([self.ranking, self.table], new)
        return Path(folder)

    def tables(self) -> list[Table]:
        return [self.ranking, self.table] if len(self.pairs) <= MOST else [self.ranking]

    def lines(self) -> list[str]:
        return [*self.notes, *self.ranking.notes]


def compare(
    *sources: Source,
    rename: Mapping[str, str] | None = None,
    join: str | None = None,
    common: bool = False,
    progress: bool = False,
) -> Comparison:
    """Compare systems on the same items.

    Args:
        sources: Two systems or more: predictions, or paths of runs, of evaluations, of predictions files or
            of results of other tools. Runs that differ only in their seed count as one system.
        rename: New names of systems by their old ones.
        join: The column of ids in results of other tools. None: the tool's own.
        common: Compare on the items that all systems have. If False, systems of different items are refused.
        progress: Show a bar in a terminal.

    Returns:
        The systems by rank, and every two of them with the difference, its interval, p, and p corrected for
        all of the tests.

    Raises:
        FiglangError: A file is damaged, or the systems did not see the same items.

    Example:
        >>> import figlang
        >>> gold = [0, 1, 0, 1]
        >>> right = [{"id": str(i), "gold": g, "scores": [1 - g, g]} for i, g in enumerate(gold)]
        >>> first = [{"id": str(i), "gold": g, "scores": [1, 0]} for i, g in enumerate(gold)]
        >>> a = figlang.Predictions.from_list(first, "first option")
        >>> b = figlang.Predictions.from_list(right, "always right")
        >>> figlang.compare(a, b).difference.value
        0.5
    """
    if len(sources) < 2:
        raise FiglangError("give two systems or more: figlang.compare(predictions, other)")
    with quietly(progress), placed(sources) as paths:
        return of_paths(paths, rename, join, common)


def of_paths(
    paths: Sequence[str],
    rename: Mapping[str, str] | None = None,
    join: str | None = None,
    common: bool = False,
) -> Comparison:
    """Compare the systems of folders and files; arguments and errors are those of `compare`.

    Args:
        paths: The folders and files.
        rename: New names of systems by their old ones.
        join: The column of ids in results of other tools.
        common: Compare on the items that all systems have.
    """
    read = systems.across_forms(systems.read(paths, join))
    apart = sharing.check_files(read)
    read, shared = sharing.common(read) if common else (sharing.checked(read), "")
    pools = systems.pooled(read, rename)
    systems.check_renamed(pools, rename or {})
    if not common:  # files that share items differ
        systems.check_data(read)
    compared = in_pairs(pools)
    return Comparison(
        tuple(pool.name for pool in pools),
        tuple(row.id for row in read[0].predictions),
        tuple(compared),
        differences.ranking(pools, compared),
        differences.table(pools, compared),
        (*differences.notes(pools, compared), *filter(None, (apart, shared))),
    )
