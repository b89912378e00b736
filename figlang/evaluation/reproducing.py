"""Reproduce one published table or figure: from options to metrics.json and tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from figlang import tables
from figlang.config.verbs.reproduce import ReproduceConfig
from figlang.evaluation import gains, opening, predicting, runtime, soundness
from figlang.evaluation.cells import filling_of
from figlang.files import folders, ownership
from figlang.files.whole import write_text
from figlang.models import checkpoint
from figlang.runs import cells, outputs, results
from figlang.tables import Table
from figlang.tasks import registry
from figlang.tasks.grid import Embeddings, Figures, Grid, Reproduced

UNPUBLISHED = (
    "Published rows are left out: they are of all items of the authors' file, and these are other items or a "
    "part of them."
)


@dataclass(frozen=True)
class Made:
    """Tables with the lines below them, the folder that they are in, and what an endpoint's answers took."""

    tables: Sequence[Table]
    below: Sequence[str]
    folder: Path
    usage: Mapping[str, Any] = field(default_factory=dict)


def reproduce(config: ReproduceConfig) -> Made:
    """Make the table or figure that `config.table` names. Cells of an interrupted command are kept.

    Args:
        config: The options of the table.

    Returns:
        What was made.

    Raises:
        FiglangError: An option, the items or the model do not fit the table, or its folder holds another
            result.
    """
    wanted = registry.reproduced(config.paths.tasks)[config.table](config)
    if isinstance(wanted, Figures):
        return _figures(wanted, config)
    assert isinstance(wanted, Grid)
    return _grid(wanted, config)


def _grid(grid: Grid[Any, Any], config: ReproduceConfig) -> Made:
    """Fill the cells of a grid with a model's answers, and measure them."""
    filling = filling_of(grid, config)
    split, loaded = opening.opened(config, filling.needed)
    filling.open(split, loaded)
    origin = predicting.origin(loaded)
    about = results.Evaluated(
        loaded.manifest.name, origin | filling.facts(), split, config.split, config.data.name, config.seed
    ).about()
    if grid.rated:
        about["data"] = results.about_data(config.data, {config.split: split}, ())
    decided = outputs.decided_by(config, split, origin)
    with outputs.claimed(config, decided) as folder:
        patterns = [f"{kind}/{grid.cells}.jsonl" for kind in filling.kinds]
        cells.claim(folder, about["signature"], config, patterns)
        took = filling.fill(folder) | opening.usage(loaded)
        rows = filling.read(folder)
        content = about | grid.measure(rows)
        if hidden := filling.read_blind(folder):
            content["gains"] = gains.measure(rows, hidden, grid.apart)
        content |= {"took": took, "notes": list(split.notes), "decided_by": decided}
        content |= soundness.texts(loaded, split.items)
        with folders.staged(folder, ownership.RESULT, ("metrics.json", grid.document)) as new:
            made = _write(grid, content, new, filling.why_not_blind, counted=folder)
    return Made(*made, folder, took.get("usage", {}))


def _figures(figures: Figures[Any], config: ReproduceConfig) -> Made:
    """Make tables and figures of a data set, without a model's answers."""
    runtime.start(config.seed, config.trainer)
    overview = figures.overview(
        lambda data: registry.load(config.split, data, config.paths), lambda: _embeddings(config)
    )
    split = overview.split
    runtime.log_notes(split.notes)
    about = results.Evaluated(
        overview.name, overview.facts, split, config.split, config.data.name, config.seed
    ).about()
    decided = outputs.decided_by(config, split, overview.facts)
    others = {name: results.describe(other) for name, other in overview.others.items()}
    content = about | dict(overview.content) | others
    content |= {"notes": list(split.notes), "decided_by": decided}
    with outputs.result(config, decided) as new:
        overview.draw(new)
        made = _write(figures, content, new)
    return Made(*made, outputs.place(config))


def _write(
    wanted: Reproduced[Any],
    content: Mapping[str, Any],
    new: Path,
    why_not_blind: str | None = None,
    counted: Path | None = None,
) -> tuple[Sequence[Table], Sequence[str]]:
    """Write tables and metrics.json into the folder `new`. `counted` holds the cells."""
    made, below = wanted.tables(content), wanted.below(content)
    if "gains" in content:
        made = [*made, gains.table(content["gains"])]
    if not content["published_file"]:
        below = [UNPUBLISHED, *below]
    if why_not_blind is not None:
        below = [why_not_blind, *below]
    write_text(new / wanted.document, tables.document(wanted.title(content), made, below))
    tables.write(made, new / "tables")
    results.write(new / "metrics.json", content, counted=counted)
    return made, below


def _embeddings(config: ReproduceConfig) -> Embeddings:
    """The input embeddings of the command's model."""
    loaded = checkpoint.local(checkpoint.model_of(config))
    matrix = loaded.network.get_input_embeddings().weight.detach().float().numpy()

    def pieces(text: str) -> list[int]:
        ids: list[int] = loaded.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    return Embeddings(loaded.manifest.name, loaded.manifest.base, matrix, pieces)
