"""Let a model rate answers, and compare it with people: `folder=ratings model=smollm2 ratings=[ann.csv]`."""

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from figlang import tables
from figlang.config import JudgeConfig, ScoringConfig
from figlang.config.entry import entry
from figlang.config.signature import digest, versions
from figlang.errors import FiglangError
from figlang.evaluation import likeness, opening, predicting, rubrics, runtime, soundness
from figlang.evaluation.how import How
from figlang.files import folders, ownership
from figlang.files.whole import slug, write_text
from figlang.models import checkpoint, layout
from figlang.models.checkpoint import Loaded, Served
from figlang.rating import calibrating, calibration_tables, judges, references, sheets
from figlang.reports import spending
from figlang.runs import outputs, results
from figlang.tasks import registry
from figlang.tasks.scales import Scale, Verdict
from figlang.types import Generation

log = logging.getLogger("figlang")
DOCUMENT = "judging.json"


@entry("judge")
def main(config: JudgeConfig) -> None:
    folder, console = Path(config.folder), Console()
    took: Mapping[str, Any] = {}
    name, people = sheets.read(folder, [Path(path) for path in config.ratings])
    scale, (_, _, answers) = registry.scales()[name], sheets.keyed(folder)
    against = references.of(answers, scale, None if config.references is None else Path(config.references))
    if config.model is not None or config.checkpoint is not None:
        model = _model(config)
        if isinstance(model, Served) and model.endpoint.client.model.dry_run:
            how = _asking(config, model)
            model.endpoint.client.plan.rehearse(
                lambda: _verdicts(config, model, how, scale, answers, against)
            )
            return
        took = _judge(config, model, scale, answers, against)
    known = judges.read(folder, list(answers), scale.codes, config.prior)
    if config.chrf:
        known.append(
            judges.of(references.CHRF, references.overlap(answers, against), list(answers), scale.codes, {})
        )
    content = calibrating.content(people, scale, known) | {"prior": config.prior}
    with folders.locked(folder, "folder=DIR"):
        write_text(folder / DOCUMENT, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    said = [spending.line(took)] if took else []
    tables.show(calibration_tables.tables(content), [*calibration_tables.below(content), *said], console)


def _judge(
    config: JudgeConfig,
    model: Loaded | Served,
    scale: Scale,
    answers: Mapping[str, Generation],
    against: Mapping[str, list[str]],
) -> Mapping[str, Any]:
    """Let the model of the command rate the answers, unless it has done so before.

    Returns:
        What an endpoint counted, also in an earlier command (`Meter.taken`); empty for a network here.
    """
    place = Path(config.folder) / judges.FOLDER / slug(config.name or model.manifest.name)
    how = _asking(config, model)
    wanted = _decided_by(model, how, answers, against)
    folders.check_place(place.parent)
    with folders.locked(place, "name=NAME", ownership.RESULT):
        if (before := outputs.finished(place)) and not config.overwrite:
            if changed := list(outputs.differences(before.get("decided_by"), wanted)):
                raise FiglangError(
                    f"{place} holds ratings with other settings ({', '.join(changed)}); choose another "
                    "name=, or replace them with overwrite=true"
                )
            log.info("%s rated these answers before", place.name)
            return dict(before.get("usage") or {})
        with soundness.explained(model):
            verdicts = _verdicts(config, model, how, scale, answers, against)
        took = opening.usage(model)
        with folders.staged(place, ownership.RESULT) as new:
            judges.write(new, verdicts, answers)
            results.write(
                new / judges.ABOUT,
                {"judge": model.manifest.name, "decided_by": wanted, **took, "versions": versions()},
            )
    return dict(took.get("usage") or {})


def _verdicts(
    config: JudgeConfig,
    model: Loaded | Served,
    how: rubrics.Asking | None,
    scale: Scale,
    answers: Mapping[str, Generation],
    against: Mapping[str, list[str]],
) -> list[Verdict]:
    if how is not None:
        return rubrics.judge(model, answers, scale, how, config.trainer.progress)
    read = How(progress=config.trainer.progress, batch_size=config.batch_size)
    return likeness.compare(model, answers, against, read)


def _asking(config: JudgeConfig, model: Loaded | Served) -> rubrics.Asking | None:
    return rubrics.asking(model, config.ask, config.chat, config.orders == "both", config.max_tokens)


def _model(config: JudgeConfig) -> Loaded | Served:
    """The judge on its device."""
    if config.model is None or not config.model.served:
        runtime.device(config.trainer)  # refuses one that is not here before anything is read
    runtime.start(config.seed, config.trainer)
    cache = config.paths.cache
    if config.model is not None and config.model.served:
        kind, needed = ("likelihood", "prompts") if config.ask == "words" else ("letter", "reply")
        return checkpoint.served(config.model, ScoringConfig(name="judge", kind=kind), cache, needed)
    if config.model is not None:
        loaded = checkpoint.pretrained(config.model, None, cache)
    else:
        loaded = checkpoint.load(str(config.checkpoint), cache=cache)
    layout.place(loaded.network, runtime.device(config.trainer))
    return loaded


def _decided_by(
    model: Loaded | Served,
    how: rubrics.Asking | None,
    answers: Mapping[str, Generation],
    against: Mapping[str, list[str]],
) -> dict[str, Any]:
    """Everything that determines the ratings, as plain data."""
    asked = {"references": digest(sorted(against.items()))} if how is None else asdict(how)
    sheet = digest([(name, asdict(one)) for name, one in answers.items()])
    content: dict[str, Any] = json.loads(
        json.dumps({"asked": asked, "sheet": sheet, "model": predicting.origin(model)}, default=str)
    )
    return content


if __name__ == "__main__":
    main()
