"""Tables of published numbers, from the `published.csv` in a benchmark's folder."""

from docs.making.rows import ROOT, table
from figlang.tables import markdown_text
from figlang.tasks.reference import results

PAPERS = {
    "figqa2022": "Liu et al. 2022",
    "figqa-repo": "authors' repository",
    "figqa-recomputed": "recomputed from the authors' files",
    "miqa2022": "Comșa et al. 2022",
    "munch2024": "Tong et al. 2024",
}


def published(benchmark: str, *tables: str) -> str:
    """The published numbers of some tables of a paper, one row a number.

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
                    markdown_text(row.model),
                    markdown_text(setting),
                    markdown_text(row.metric.replace("_", " ")),
                    f"{row.value:g}",
                    markdown_text(f"{PAPERS[row.paper]}, {row.table}"),
                ]
            )
    return table(["model", "setting", "metric", "published", "source"], rows, texts=3)
