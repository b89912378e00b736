"""Tables of published numbers, from the `published.csv` in a benchmark's folder."""

from docs.making.rows import ROOT, table, text
from figlang.tasks.reference import results

MOST = 12  # rows of a table that is not folded
PAPERS = {
    "figqa2022": "Liu et al. 2022",
    "figqa-repo": "authors' repository",
    "figqa-recomputed": "recomputed from the authors' files",
    "miqa2022": "Comșa et al. 2022",
    "munch2024": "Tong et al. 2024",
}


def published(benchmark: str, *tables: str) -> str:
    """The published numbers of some tables of a paper, one row a number; folded if there are many.

    Args:
        benchmark: A folder of figlang/tasks/.
        tables: Names of tables, such as `Table 4`.

    Returns:
        Markdown.
    """
    rows = []
    for row in results(ROOT / "figlang" / "tasks" / benchmark):
        if row.table in tables and row.value is not None:
            setting = ", ".join(
                value if key in ("regime", "train") else f"{key} {value}"
                for key, value in row.setting.items()
            )
            rows.append(
                [
                    text(row.model),
                    text(setting),
                    text(row.metric.replace("_", " ")),
                    f"{row.value:g}",
                    text(f"{PAPERS[row.paper]}, {row.table}"),
                ]
            )
    sources = sorted({row[-1] for row in rows})
    if len(sources) == 1:
        below = table(["model", "setting", "metric", "published"], [row[:-1] for row in rows], texts=3)
        below += f"\nSource: {sources[0]}.\n"
    else:
        below = table(
            ["model", "setting", "metric", "source", "published"], [_last(row) for row in rows], texts=4
        )
    if len(rows) <= MOST:
        return below
    folded = "".join(f"    {line}".rstrip() + "\n" for line in below.splitlines())
    return f'??? quote "{len(rows)} published numbers: {", ".join(tables)}"\n\n{folded}'


def _last(row: list[str]) -> list[str]:
    """A row with its number at the end."""
    return [*row[:3], row[4], row[3]]
