"""The commands on a card: those of all stages of a training, in the order in which they were typed."""

from collections.abc import Mapping
from typing import Any

from figlang.release import portable
from figlang.runs import stages
from figlang.text.amounts import form


def listed(document: Mapping[str, Any], trained_on: str) -> str:
    """The commands of a training as a block of Markdown, the first stage first.

    Args:
        document: The metrics.json of the run.
        trained_on: What the manifest of its network says that it was trained on.

    Returns:
        The block. A sentence below it says which stages have no command here.
    """
    data = trained_on.split(">")
    known = [*document.get("commands_before", []), stages.typed(document)][-len(data) :]
    lines = []
    for number, (name, typed) in enumerate(
        zip(data[-len(known) :], known, strict=True), len(data) - len(known) + 1
    ):
        if len(known) > 1:
            lines.append(f"# stage {number} of {len(data)}: {name}")
        lines += [portable.command(line) for line in typed]
    block = "\n".join(("```sh", *lines, "```"))
    if unknown := data[: -len(known)]:
        noun = form(len(unknown), "stage")
        block += (
            f"\n\nCommands of the {noun} before ({', '.join(unknown)}) stand on the card that it began from."
        )
    return block
