"""Make the folder of a report from run folders: the page, tables/ and figures/."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from figlang import tables
from figlang.config import DataConfig, PathsConfig, ReportConfig
from figlang.errors import FiglangError
from figlang.files import folders
from figlang.files.whole import LONGEST
from figlang.machine import bars
from figlang.reports import (
    browser,
    differences,
    elsewhere,
    errors,
    hardness,
    overview,
    page,
    people,
    spending,
    surface,
    unread,
)
from figlang.reports.parts import Chapter, Long, Picture, Section
from figlang.runs import names, spelled, systems
from figlang.runs.systems import System
from figlang.statistics import common
from figlang.tables import Table, drawing
from figlang.tasks import registry as data
from figlang.tasks.task import Values
from figlang.text.amounts import counted
from figlang.types import Item

log = logging.getLogger("figlang")

SUFFIXES = ("svg", "pdf")
People = Mapping[str, tuple[common.Answered, ...]]


def write(config: ReportConfig, folder: Path) -> Path:
    """Write the report of `config.runs` and return its page.

    Raises FiglangError for runs that cannot be read, and for a folder that cannot be written to.
    """
    data.find(config.paths)
    chosen = {} if config.people is None else common.people(Path(config.people))
    found = [
        _chapter(members, config, chosen) for members in systems.tasks(systems.read(config.runs, config.join))
    ]
    shown = [pool for chapter in found for pool in chapter.pools]
    systems.check_renamed(shown, names.renaming(config.rename))
    with folders.replaced(folder, "a report") as new:
        _fill(new, found, config)
    return folder / "report.html"


def _fill(folder: Path, found: Sequence[Chapter], config: ReportConfig) -> None:
    stems = _stems([chapter.name for chapter in found])
    chapters = []
    for chapter, name in zip(found, stems, strict=True):
        attributes, reason = _analysed(chapter, config)
        made = _sections(chapter, attributes, reason)
        _files(made, folder, "" if len(found) == 1 else f"{name}/")
        chapters.append((chapter.name, made, browser.columns(chapter, attributes)))
    count = sum(len(chapter.systems) for chapter in found)
    runs = counted(count, "run")
    title = config.title or (found[0].name if len(found) == 1 else f"{len(found)} sets of items")
    lead = f"{runs}. Every share stands with its number of cases and a 95 % interval."
    page.write(folder / "report.html", title, lead, chapters)


def _stems(titles: Sequence[str]) -> list[str]:
    """Titles as names of folders; a repeated one gets a number."""
    plain = [page.anchor(title)[:LONGEST] for title in titles]
    before = [plain[:place].count(stem) for place, stem in enumerate(plain)]
    return [f"{stem}-{count + 1}" if count else stem for stem, count in zip(plain, before, strict=True)]


def _chapter(members: Sequence[System], config: ReportConfig, chosen: People) -> Chapter:
    first = members[0]
    people.check(chosen, first.predictions)
    called = spelled.together([one.content for one in members]) or _unnamed(members)
    name = f"{called}, {counted(len(first.predictions), 'item')}"
    pools = tuple(systems.pooled(members, names.renaming(config.rename)))
    source = next((one for one in members if "data" in one.content), first)
    try:
        settings = config.data or systems.data_of(source)
        split = systems.items(source, settings, config.paths)
    except FiglangError as error:
        log.warning("the report does not show the texts of the items: %s", error)
        return Chapter(name, pools, {}, data.task_of(source.content), str(error), people=chosen)
    training = _training(source, settings, config.paths)
    found = {item.id: item for item in split.items}
    systems.check_items(members, found)
    return Chapter(name, pools, found, data.task(split.task), training=training, people=chosen)


def _training(source: System, settings: DataConfig, paths: PathsConfig) -> tuple[Item, ...]:
    """Load the training items if their files are on this machine.

    The items of classification tasks are not loaded: they are half a million.
    """
    task = data.task(settings.dataset)
    here = "train" in task.files or settings.root or paths.data
    if not here or task.classified(settings) or source.content.get("split") == "train":
        return ()
    try:
        return data.load("train", replace(settings, fold=None), paths).items
    except FiglangError:  # some tasks have no training split
        return ()


def _unnamed(members: Sequence[System]) -> str:
    """Name items by the systems that were evaluated on them, if nothing else names them."""
    first, *others = (one.name for one in members)
    if not others:
        return first
    return f"data of {first} and {others[0] if len(others) == 1 else f'{len(others)} others'}"


def _analysed(chapter: Chapter, config: ReportConfig) -> tuple[Values, str]:
    """Analyse the texts: values by attribute and item, and the reason if there are none."""
    if config.analysis == "off" or not chapter.items:
        return {}, ""
    rows = [chapter.items[row.id] for row in chapter.systems[0].predictions]
    values, reason = chapter.task.analyse(rows, Path(config.paths.cache).expanduser(), config.analysis)
    if reason:
        log.info("no linguistic analyses: %s", reason)
    return values, reason


def _sections(
    chapter: Chapter,
    attributes: Mapping[str, Mapping[str, Sequence[str]]],
    reason: str,
) -> list[Section]:
    made = [
        overview.summary(chapter),
        hardness.attributes(chapter, attributes, reason),
        differences.compared(chapter),
        *elsewhere.sections(chapter),
        differences.sizes(chapter),
        differences.prompts(chapter),
        surface.section(chapter),
        people.section(chapter),
        errors.common(chapter, common.majorities(chapter.people)),
        hardness.likelihood(chapter),
        hardness.confidence(chapter),
        overview.curves(chapter),
        unread.section(chapter),
        spending.section(chapter),
        overview.reproduction(chapter),
    ]
    return [section for section in made if section is not None]


def _files(sections: Sequence[Section], folder: Path, below: str) -> None:
    parts = [part.table if isinstance(part, Long) else part for section in sections for part in section.parts]
    tables.write([part for part in parts if isinstance(part, Table)], folder / "tables" / below)
    for part in bars.track(parts, "drawing"):
        if isinstance(part, Picture):
            drawing.save(part.figure, folder / "figures" / below / part.name, SUFFIXES)
