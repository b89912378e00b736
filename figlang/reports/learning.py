"""Learning curves: runs that differ only in their number of training items and in their seed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from figlang.config.signature import digest
from figlang.errors import FiglangError
from figlang.files import stored
from figlang.runs import origins
from figlang.statistics.metrics import Estimate, as_row

SIZES = ("name", "size", "limit", "train_limit")  # settings of data that say how many items are trained on
SHOWN = {"accuracy": "accuracy", "pair_accuracy": "pair accuracy"}


@dataclass(frozen=True)
class Point:
    """Results after training on a number of items: for each metric an estimate for each seed."""

    items: int
    metrics: Mapping[str, tuple[Estimate, ...]]


def recipe_of(folder: Path) -> str:
    """The settings of a run without size and seed; empty if nothing was trained."""
    recipe = _read(folder / "recipe.json")
    trained = "data" in recipe.get("settings", {}) and "validation" in recipe.get("data", {})
    return _but_size(recipe) if trained else ""


def around(folder: Path) -> dict[str, list[Point]]:
    """The curve of a run, with the runs beside it that differ only in size and seed
    (runs/<model>-<data>/seed<n>)."""
    own = recipe_of(folder)
    beside = (path.parent for path in folder.parent.parent.glob("*/*/recipe.json"))
    return series(path for path in beside if own and recipe_of(path) == own)


def series(folders: Iterable[Path]) -> dict[str, list[Point]]:
    """Points by model, in ascending order of training items, for each recipe with at least two sizes.

    Unfinished runs and averaged runs are left out, and so are runs of the size and seed of an earlier one.
    """
    found: dict[str, dict[tuple[int, int], tuple[str, int, Mapping[str, Any]]]] = {}
    for folder in folders:
        content, recipe = _read(folder / "metrics.json"), recipe_of(folder)
        if (
            "training" in content
            and "train" in content.get("data", {})
            and "averaged" not in content
            and recipe
        ):
            items, seed = content["data"]["train"]["items"], _read(folder / "recipe.json")["settings"]["seed"]
            one = content["model"], items, content["metrics"]
            found.setdefault(recipe, {}).setdefault((items, seed), one)
    curves: dict[str, list[Point]] = {}
    for runs in (list(each.values()) for each in found.values()):
        sizes = sorted({items for _, items, _ in runs})
        if len(sizes) > 1:
            model, place = runs[0][0], 2
            name = model
            while name in curves:
                name, place = f"{model} {place}", place + 1
            curves[name] = [
                _point(size, [metrics for _, items, metrics in runs if items == size]) for size in sizes
            ]
    return curves


def _point(items: int, runs: list[Mapping[str, Any]]) -> Point:
    estimates = {shown: [as_row(metrics, name) for metrics in runs] for name, shown in SHOWN.items()}
    return Point(
        items, {name: tuple(one for one in each if one) for name, each in estimates.items() if any(each)}
    )


def _but_size(recipe: Mapping[str, Any]) -> str:
    settings = origins.without_seed(recipe)["settings"]
    settings["data"] = {name: value for name, value in settings["data"].items() if name not in SIZES}
    # A limit cuts validation too: what was measured on other items is not a point of the same curve.
    validated = recipe["data"].get("items", {}).get("validation")
    return digest([settings, recipe["data"]["validation"], validated])


def _read(path: Path) -> dict[str, Any]:
    try:
        schema = stored.RECIPE if path.name == "recipe.json" else stored.DOCUMENT
        return stored.document(path, schema, "")
    except FiglangError:  # another run's damaged file is not this one's error
        return {}
