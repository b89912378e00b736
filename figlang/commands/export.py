"""Write items as a task of another tool: `tool=lm_eval data=NAME output=tasks`."""

import logging
import re
import shutil
from dataclasses import replace
from pathlib import Path
from shlex import quote

from figlang.config import PromptConfig
from figlang.config.entry import entry
from figlang.config.verbs.export import ExportConfig
from figlang.exports import inspect, lm_eval, strings
from figlang.files import folders, ownership
from figlang.tasks import prompting, unread
from figlang.tasks import registry as data
from figlang.tasks.lettered import Lettered
from figlang.text.amounts import counted, form
from figlang.types import Split

log = logging.getLogger("figlang")


@entry("export")
def main(config: ExportConfig) -> None:
    unread.check([config.data], config.paths)
    split = data.load(config.split, config.data, config.paths)
    name = re.sub(r"[^\w-]+", "_", f"{config.data.name}_{config.split}", flags=re.ASCII)
    folder = Path(config.output or Path(config.paths.runs) / "exports" / f"{name}-{config.tool}")
    if config.tool == "lm_eval":
        asked = strings.prompted(split, config.data, config.paths, config.prompt, config.scoring)
        with folders.replaced(folder, "a task of lm-evaluation-harness") as new:
            _keep_others(folder, name, new)
            lm_eval.write(asked, name, new, folder)
        count = len(asked)
        log.info(
            "run it by: lm_eval --include_path %s --tasks %s%s", quote(str(folder)), lm_eval.PREFIX, name
        )
    else:
        lettered = _lettered(config, split)
        with folders.replaced(folder, "a task of inspect_ai") as new:
            _keep_others(folder, name, new)
            inspect.write(lettered, name, new)
        count = len(lettered)
        log.info("run it by: inspect eval %s --model MODEL", quote(str(folder / f"{name}.py")))
    log.info("%s of data=%s in %s", counted(count, "item"), config.data.name, folder)
    if left := len(split.items) - sum(item.gold is not None for item in split.items):
        log.warning(
            "%d %s left out", left, form(left, "item with a hidden label is", "items with hidden labels are")
        )


def _keep_others(folder: Path, name: str, new: Path) -> None:
    """Bring the tasks of other data sets that were exported into the folder before, as users did not change
    them."""
    for file in ownership.deletable(folder, ()):
        if Path(file).stem != name:
            shutil.copyfile(folder / file, new / file)


def _lettered(config: ExportConfig, split: Split) -> list[Lettered]:
    """The items in one order of options, with the question of their task."""
    questions = strings.choices(split, config.data)
    questions.check(config.prompt, split.source)
    prompt: PromptConfig = replace(questions.settled(config.prompt), seed=config.seed)
    pool = prompting.pool(config.prompt, config.data, config.paths)
    known = [item for item in split.items if item.gold is not None]
    return questions.letters(split.items, known, prompt, pool, "drawn")


if __name__ == "__main__":
    main()
