"""What the commands of this folder share."""

from collections.abc import Callable
from functools import wraps

from figlang.config.refusals import refuse
from figlang.errors import FiglangError


def in_one_line(main: Callable[[], None]) -> Callable[[], None]:
    """The command, which ends with the errors of figlang in one line, as figlang's own commands do."""

    @wraps(main)
    def run() -> None:
        try:
            main()
        except FiglangError as error:
            refuse(error)

    return run
