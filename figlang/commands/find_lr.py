"""Try learning rates from low to high and suggest one: `model=minilm data=NAME`."""

import csv
import io
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from figlang.config import FindLrConfig
from figlang.config.entry import entry
from figlang.errors import FiglangError
from figlang.evaluation import runtime
from figlang.files import folders
from figlang.files.whole import write_text
from figlang.machine.printing import say
from figlang.reports import figures
from figlang.tasks import registry as data
from figlang.tasks import unread
from figlang.text.amounts import counted
from figlang.training import agreement

if TYPE_CHECKING:
    from figlang.training import rates

log = logging.getLogger("figlang")


@entry("find_lr")
def main(config: FindLrConfig) -> None:
    config = agreement.settled(runtime.settled(config))
    agreement.check(config)
    runtime.device(config.trainer)  # refuses one that is not here before anything is read
    folder = Path(str(config.run))
    if (folder / "recipe.json").exists():
        raise FiglangError(f"{folder} holds a training; give another folder with run=")
    unread.check([config.data], config.paths)
    train, validation = data.for_training(config.data, config.paths)
    from figlang.training import preparation, rates  # Lightning takes a second to import

    runtime.start(config.seed, config.trainer)
    ready = preparation.prepare(config, train, validation)
    runtime.log_notes(ready.notes)
    log.info("trying %d learning rates from %g to %g", config.steps, config.lowest, config.highest)
    with folders.replaced(folder, "a search for a learning rate") as new:
        found = rates.find(config, ready, new)
        write_text(new / "lr.csv", _rows(found))
        figures.rates(found.rates, found.losses, found.chosen, new)
    console = Console()
    say(_said(config, found), console)
    say(str(folder), console, "bold")


def _rows(found: "rates.Found") -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["step", "lr", "loss", "suggested"])
    for place, (rate, loss) in enumerate(zip(found.rates, found.losses, strict=True)):
        writer.writerow([place + 1, f"{rate:.6g}", f"{loss:.6g}", int(place == found.chosen)])
    return text.getvalue()


def _said(config: FindLrConfig, found: "rates.Found") -> str:
    """The suggestion in a sentence."""
    tried = len(found.rates)
    if found.chosen is None:
        steps = counted(tried, "step")
        return f"No learning rate can be suggested after {steps}; begin with a lower one (lowest=)."
    ended = (
        ""
        if tried == config.steps
        else f" The loss grew fourfold or was not a number after {counted(tried, 'step')}."
    )
    return f"method.lr={found.rates[found.chosen]:.2g}: there the loss fell most steeply.{ended}"


if __name__ == "__main__":
    main()
