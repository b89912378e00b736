"""Let a model answer open questions in its own words, for rating: `model=smollm2 data=NAME`."""

import logging
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from figlang.config import GenerateConfig
from figlang.config.entry import entry
from figlang.config.signature import digest
from figlang.errors import FiglangError
from figlang.evaluation import generation, opening, predicting, soundness
from figlang.files import folders, ownership
from figlang.machine.printing import say
from figlang.models.checkpoint import Served
from figlang.models.hosted.opened import Opened
from figlang.rating import answers, ratings, sheets
from figlang.reports import spending
from figlang.runs import outputs, results
from figlang.tasks import open as questions
from figlang.tasks import registry
from figlang.tasks.scales import Rated
from figlang.types import Generation, Open

log = logging.getLogger("figlang")


@entry("generate")
def main(config: GenerateConfig) -> None:
    split = opening.items(config)
    asked = registry.task(split.task).open_questions(split.items, config.kinds)
    rated = _rated(config, asked)
    loaded = opening.model(config, needed="writes")
    if not loaded.manifest.input_format.causal:
        raise FiglangError(
            f"generate needs a causal model, but {loaded.manifest.name} is an encoder; try model=smollm2"
        )
    pool: list[Generation] = []
    if rated is not None:
        pool = questions.pool(ratings.found_correct(rated, loaded.manifest.name), config.sampling.seed)
        asked = questions.with_examples(asked, pool, config.shots, config.sampling.seed)
    if isinstance(loaded, Served) and config.model.dry_run:
        loaded.endpoint.client.plan.rehearse(lambda: _write(config, loaded, asked, pool))
        return
    examples = {"pool": digest([asdict(answer) for answer in pool])}
    wanted = outputs.decided_by(config, split, predicting.origin(loaded) | examples)
    with outputs.claimed(config, wanted) as folder:
        content = {} if config.overwrite else outputs.finished(folder)
        if content:
            written = answers.read(folder)
            log.info(
                "this sheet was written before and is unchanged, since people may have rated it; "
                "overwrite=true replaces it"
            )
        else:
            sheets.check_free(folder, config.overwrite)
            written, facts = _write(config, loaded, asked, pool)
            content = results.Evaluated(
                loaded.manifest.name, facts, split, config.split, config.data.name, config.seed
            ).about() | {
                "answers": len(written),
                "begins_as_expected": answers.begins_as_expected(written),
                "decided_by": wanted,
                **opening.usage(loaded),
            }
            with folders.staged(folder, ownership.RESULT, outputs.MADE) as new:
                answers.write(new, written)
                sheets.write(new, {loaded.manifest.name: written}, answers.scale_of(written), config.seed)
                results.write(new / "metrics.json", content)
    answers.show(written, content["begins_as_expected"], Console())
    said = [spending.line(content["usage"])] if "usage" in content else []
    for line in (*said, sheets.invitation(folder)):
        say(line, Console())


def _rated(config: GenerateConfig, asked: Sequence[Open]) -> Sequence[Rated] | None:
    """Read the rated answers that examples are drawn from; None if no examples are wanted."""
    if config.rated is None:
        return None
    scale, rated = sheets.read(Path(config.rated), [Path(path) for path in config.ratings])
    if scale != answers.scale_of(asked):
        raise FiglangError(
            f"rated={config.rated} has answers to other questions than data={config.data.name}; give a sheet "
            "about the same questions"
        )
    return rated


def _write(
    config: GenerateConfig, loaded: Opened, asked: Sequence[Open], pool: Sequence[Generation]
) -> tuple[list[Generation], dict[str, Any]]:
    """Write the answers of the model, and the settings that can change them."""
    with soundness.explained(loaded):
        written, manner = generation.answer(
            loaded, asked, config.sampling, config.cut, config.trainer.progress
        )
    facts = predicting.origin(loaded)
    facts |= generation.facts(config.sampling, manner, config.shots, config.kinds, config.cut, pool)
    # The form of a chat has a token of its own.
    facts["bos"] = loaded.bos() if manner == "continued" else "none"
    return written, facts


if __name__ == "__main__":
    main()
