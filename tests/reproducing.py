"""`figlang reproduce table=TABLE` as a command for each table."""

import sys
from collections.abc import Callable
from typing import Any

from figlang.commands.reproduce import main
from figlang.config.verbs.reproduce import ReproduceConfig
from figlang.tasks.registry import reproduced

OPTIONS: dict[str, type[ReproduceConfig]] = {name: table.options for name, table in reproduced().items()}


def table(name: str) -> Callable[[], Any]:
    """The command of a table, which reads sys.argv."""

    def command() -> None:
        sys.argv[1:1] = [f"table={name}"]
        main()

    return command


miqa_table3 = table("miqa_table3")
munch_judge = table("munch_judge")
munch_generate = table("munch_generate")
munch_figures = table("munch_figures")
