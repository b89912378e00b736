"""Upload a released checkpoint to the Hugging Face hub: `checkpoints/mine repo=ORG/NAME`.

Without dry_run=false it only lists what would be uploaded.
"""

from rich.console import Console

from figlang import tables
from figlang.config.entry import entry
from figlang.config.verbs.push import PushConfig
from figlang.machine.printing import say
from figlang.release import pushing
from figlang.tables import Cell, Table
from figlang.text.amounts import counted

MEGABYTE = 1e6


@entry("push")
def main(config: PushConfig) -> None:
    upload = pushing.plan(config)
    rows: list[tuple[Cell, ...]] = [
        (file.as_posix(), f"{(upload.folder / file).stat().st_size / MEGABYTE:.2f}") for file in upload.files
    ]
    rows.append((counted(len(upload.files), "file"), f"{upload.size / MEGABYTE:.2f}"))
    private = "private if it is new" if config.private else "public if it is new"
    title = f"{upload.folder} to {config.repo}, branch {config.branch} ({private})"
    console = Console()
    tables.show([Table("upload", title, ("file", "MB"), tuple(rows))], upload.remarks, console)
    if config.dry_run:
        say("nothing was uploaded; dry_run=false uploads these files", console)
        return
    say(pushing.push(config, upload), console, "bold")


if __name__ == "__main__":
    main()
