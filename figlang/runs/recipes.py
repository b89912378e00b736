"""What made an evaluation: its recipe, in which seeds are alike, also after trainings of several stages."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from figlang.config import naming
from figlang.config.signature import digest
from figlang.errors import FiglangError
from figlang.files import stored
from figlang.runs import names, origins, stages


def identified(folder: Path, content: Mapping[str, Any]) -> tuple[str, dict[str, str], str | None]:
    """The recipe behind an evaluation.

    Args:
        folder: The folder of the evaluation, which may be that of a run.
        content: Its metrics.json.

    Returns:
        What identifies everything that made it except the seed; the settings of its training without the
        seed, `group.name` to value; and what identifies it together with the run that it began from (see
        `_lineage`).

    Raises:
        FiglangError: If a recipe.json is damaged.
    """
    facts = dict(content.get("facts", {}))
    run, seed = origins.behind(folder, content) if facts else None, facts.pop("train_seed", None)
    if not facts or (run is None and seed is not None):
        return str(folder), {}, None  # its settings are unknown, so it is not pooled with others
    about = [content.get("data_name"), content.get("split")]
    if run is None:
        return digest([facts, {}, *about]), {}, None
    facts.pop("trained", None)  # its digest is that of the settings with the seed
    facts.pop("weights", None)
    own = origins.recipe(run)
    recipe = origins.without_seed(own)
    found = digest([facts, recipe, *about]), names.flat(recipe["settings"])
    if (both := _lineage(run, own)) is None:
        return *found, None
    facts["model"] = both["settings"]["model"]["name"]
    if facts.get("base") == own["settings"]["model"]["name_or_path"]:
        del facts["base"]  # a whole network that was trained further
    return *found, digest([facts, both, *about])


def of_all_seeds(name: str, seed: int | None) -> str:
    """The name of one of several seeds, if each is called after its folder, without the seed.

    Args:
        name: The name, for example `release_minilm-seed1` or `anchored1`.
        seed: The seed of the run.
    """
    return re.sub(rf"[-_.]?(seed)?{seed}$", "", name) or name


def _lineage(run: Path, recipe: dict[str, Any]) -> dict[str, Any] | None:
    """The recipe of a run and of the run that it began from, without their seed.

    So the seeds of a recipe are alike if each began from the same seed of another recipe.

    Returns:
        The recipe without the seed, with that of the run that it began from in the place of its path and
        identity; None if that one is not here, is damaged, is not a run of a training, or has another seed.
    """
    seed = recipe["settings"].get("seed")
    if not recipe.get("start") or (found := _began(run, recipe)) is None:
        return None
    began, before = found
    if before["settings"].get("seed") != seed:
        return None
    both = origins.without_seed(recipe)
    model = dict(both["settings"]["model"])
    if naming.of_folder(model.pop("name_or_path")) == model["name"]:
        model["name"] = None  # its folder's name may hold the seed in any form
    both["settings"]["model"] = model
    return {**both, "start": _lineage(began, before) or origins.without_seed(before)}


def _began(run: Path, recipe: Mapping[str, Any]) -> tuple[Path, dict[str, Any]] | None:
    """The run that a run began from, and its recipe. None if it is not here, if its files cannot be read, or
    if it is a mean, which has the recipe of its first run only."""
    try:
        began = stages.began(run)
        # If its weights are gone, another run may lie there by now.
        if (
            began is None
            or not (began / origins.RECIPE).is_file()
            or origins.identity(began) != recipe["start"]
        ):
            return None
        mean = "averaged" in stored.plain(began / origins.METRICS, origins.REMEDY)
        return None if mean else (began, origins.recipe(began))
    except FiglangError:  # the results of a run are there whatever became of the run before it
        return None
