"""Make a benchmark: `prompts=100` for writers, then `file=prompts.csv` for checks, splits and a data card."""

import shlex
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from figlang import tables
from figlang.config import CreateConfig
from figlang.config.composing import data_sets
from figlang.config.entry import entry
from figlang.config.signature import versions
from figlang.creation import building, checks, division, drafts, prompts, validation
from figlang.creation import tables as counted
from figlang.errors import FiglangError
from figlang.machine.printing import say
from figlang.reports import surface
from figlang.tasks import registry
from figlang.types import Split


@entry("create")
def main(config: CreateConfig) -> None:
    console = Console()
    if config.prompts is not None:
        folder = Path(config.output or Path(config.paths.runs) / "prompts")
        prompts.write(config.prompts, config.seed, folder)
        say(f"writers fill in {folder / prompts.SHEET}; {prompts.GUIDE} beside it says how", console, "bold")
        return
    file = Path(str(config.file)).expanduser()
    name = config.name or file.stem
    folder = Path(config.output or Path(config.paths.runs) / "benchmarks" / name)
    draft = drafts.read(file)
    if draft.guess:
        say(draft.guess, console, "bold")
    choices = validation.read([Path(path) for path in config.ratings], draft.items)
    found = checks.items(draft, config.alike, [*_others(config)], choices, config.agree)
    clean = found.kept
    looks = [*checks.learner(found, config.guesses), *_models(config, found)]
    found = checks.blind(found, looks, config.keep)
    if not found.kept:
        raise FiglangError(
            f"no item of {file} is left ({_why_none(draft, found)}); correct its rows, or give other options"
        )
    shares = {
        "validation": config.validation,
        "test": config.test,
        "train": 1 - config.validation - config.test,
    }
    splits = division.divide(found.kept, found.near, shares, config.seed)
    made = [
        counted.counts(draft, found, splits),
        counted.checks(found.faults, config.keep),
        *filter(None, [counted.looks(looks, found.flagged), surface.table(clean, (), False)]),
    ]
    if choices:
        agreed = validation.agreement(draft.items, choices)
        made.append(counted.people(agreed))
    about = "" if config.about is None else _about(Path(config.about))
    card = building.Card(name, about, _made(config, draft), made)
    building.build(folder, found, splits, card, _content(config, draft), config.seed)
    tables.show(made, [], console)
    for fault in found.faults[:5]:
        say(f"{fault.place}: {fault.what} ({fault.check})", console, "bold")
    evaluate = shlex.join(["figlang", "evaluate", f"data={folder / building.DATA}"])
    say(f"evaluate a model: {evaluate}", console, "bold")
    people = shlex.join(["figlang", "rate", "serve", f"data={folder / building.PEOPLE}"])
    say(f"ask people: {people} raters=[ann,ben]", console, "bold")


def _why_none(draft: drafts.Drafts, found: checks.Checked) -> str:
    """Why no item is left: the reason against the first item that was dropped, or what is wrong with rows."""
    if found.dropped:
        item, reason = found.dropped[0]
        return f"all {len(found.dropped)} were dropped, {item.id} for {reason}"
    if draft.faults:
        return f"{draft.faults[0].place}: {draft.faults[0].what}"
    return "no row is filled in"


def _models(config: CreateConfig, found: checks.Checked) -> list[checks.Look]:
    """The looks of the models of the command."""
    if (config.model is None and not config.checkpoints) or not found.kept:
        return []
    from figlang.evaluation import unaided  # torch takes a second to import

    split = Split(Path(str(config.file)).stem, found.kept, str(config.file), "", task="own")
    return [checks.Look(*look) for look in unaided.look(config, split)]


def _others(config: CreateConfig) -> Iterator[tuple[str, Split]]:
    """Every split of the named data sets that can be loaded.

    Raises FiglangError for a data set of which none can.
    """
    for data in data_sets(config.against):
        # A file that is named alone is every split.
        loaded, problem = set[tuple[str, ...]](), None
        for role in building.SPLITS:
            try:
                split = registry.load(role, replace(data, limit=None), config.paths)
            except FiglangError as error:  # the data set has no such split, or its files are missing
                problem = error
                continue
            ids = tuple(item.id for item in split.items)
            if ids not in loaded:
                yield data.name, split
            loaded.add(ids)
        if problem is not None and not loaded:
            raise problem


def _about(path: Path) -> str:
    try:
        return path.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FiglangError(f"about={path} cannot be read; give a text file in UTF-8") from error


def _content(config: CreateConfig, draft: drafts.Drafts) -> dict[str, Any]:
    """The settings of the command, as plain data."""
    given = {key: value for key, value in asdict(config).items() if key not in ("trainer", "paths", "method")}
    model = None if config.model is None else config.model.name
    return {"settings": {**given, "model": model}, "sha256": draft.sha256, "versions": versions()}


def _made(config: CreateConfig, draft: drafts.Drafts) -> str:
    """How the benchmark was made, as a part of its card."""
    others = ", ".join(config.against) or "none"
    source = f"{Path(str(config.file)).name} (sha256 {draft.sha256[:12]})"
    own = "" if config.about is not None else " The makers have said nothing yet (`about=FILE`)."
    return f"""## How it was made

- By `figlang create` {versions()["figlang"]} from {source}.{own}
- Near-duplicates: a Jaccard similarity of words of {config.alike:g} or more. Other data sets: {others}.
- Flagged items: `keep={config.keep}`. A guesser flags an item that it gets right in all of its looks.
- Splits: drawn with seed {config.seed}. Items of a group, and near-duplicates, are in one split.
"""


if __name__ == "__main__":
    main()
