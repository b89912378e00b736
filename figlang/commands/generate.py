"""Let a causal model answer open questions in its own words, for rating: `model=smollm2 data=miqa`."""

import logging
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from figlang.config import GenerateConfig
from figlang.config.entry import entry
from figlang.config.signature import digest
from figlang.errors import FiglangError
from figlang.evaluation import generation, opening, predicting, soundness
from figlang.files import folders
from figlang.rating import answers, ratings, sheets
from figlang.runs import outputs, results
from figlang.tasks import open as questions
from figlang.types import Generation

log = logging.getLogger("figlang")


@entry("generate")
def main(config: GenerateConfig) -> None:
    if not config.data.dataset.startswith(("miqa", "figqa")):
        raise FiglangError(
            f"data={config.data.name} has no open questions; use data=miqa or data=figqa_medium"
        )
    split = opening.items(config)
    asked = questions.ask(split.items, config.kinds)
    if config.rated is not None:
        scale, rated = sheets.read(Path(config.rated), [Path(path) for path in config.ratings])
        if scale != answers.scale_of(asked):
            raise FiglangError(
                f"rated={config.rated} has answers to other questions than data={config.data.name}"
            )
    loaded = opening.model(config, needed="writes")
    if not loaded.manifest.input_format.causal:
        raise FiglangError(f"{loaded.manifest.name} is no causal model, and only those write")
    pool: list[Generation] = []
    if config.rated is not None:
        pool = questions.pool(ratings.found_correct(rated, loaded.manifest.name), config.sampling.seed)
        asked = questions.with_examples(asked, pool, config.shots, config.sampling.seed)
    examples = {"pool": digest([asdict(one) for one in pool])}
    wanted = outputs.decided_by(config, split, predicting.origin(loaded) | examples)
    with outputs.claimed(config, wanted) as folder:
        content = {} if config.overwrite else outputs.finished(folder)
        if content:
            written = answers.read(folder)
            log.info(
                "written before and left as it is, since people may have rated it; overwrite=true replaces it"
            )
        else:
            sheets.check_free(folder, config.overwrite)
            with soundness.explained(loaded):
                written, manner = generation.answer(
                    loaded, asked, config.sampling, config.cut, config.trainer.progress
                )
            facts = predicting.origin(loaded)
            facts |= generation.facts(config.sampling, manner, config.shots, config.kinds, config.cut, pool)
            facts["bos"] = (
                loaded.bos() if manner == "continued" else "none"
            )  # a chat's form has a token of its own
            evaluated = results.Evaluated(
                loaded.manifest.name, facts, split, config.split, config.data.name, config.seed
            )
            proxy = answers.begins_as_expected(written)
            content = evaluated.about() | {
                "answers": len(written),
                "begins_as_expected": proxy,
                "decided_by": wanted,
            }
            with folders.staged(folder, outputs.MADE) as new:
                answers.write(new, written)
                sheets.write(new, {loaded.manifest.name: written}, answers.scale_of(written), config.seed)
                results.write(new / "metrics.json", content)
    answers.show(written, content["begins_as_expected"], Console())
    Console().print(sheets.invitation(folder), highlight=False, markup=False, emoji=False, soft_wrap=True)


if __name__ == "__main__":
    main()
