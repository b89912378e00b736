"""Whether the hub can be asked: found out once, quickly, before its client tries every file for half a
minute."""

import logging
from functools import cache
from typing import Any

from huggingface_hub import constants, get_session, try_to_load_from_cache

from figlang.errors import FiglangError

log = logging.getLogger("figlang")

SECONDS = 5.0  # for the hub's first answer, of whatever kind
FIRST = ("config.json", "adapter_config.json")


def check(name: str, revision: str | None = None) -> None:
    """Have the hub's client use what it has kept of `name` where the hub does not answer.

    Raises FiglangError, which says what would work, where it has kept nothing.
    """
    if constants.HF_HUB_OFFLINE or (reason := _silence(constants.ENDPOINT)) is None:
        return
    kept: list[Any] = [try_to_load_from_cache(name, file, revision=revision) for file in FIRST]
    if not any(isinstance(path, str) for path in kept):
        raise FiglangError(
            f"{name} is not a folder here, and the hub, {constants.ENDPOINT}, cannot be reached ({reason}); "
            "give a folder, package:<module>/<path>, or internet access"
        )
    log.warning("the hub cannot be reached (%s); what was kept of %s is used", reason, name)
    constants.HF_HUB_OFFLINE = True  # its client would try every file again and again


@cache
def _silence(endpoint: str) -> str | None:
    """Why the hub does not answer; None if it does."""
    import httpx2

    try:
        get_session().head(endpoint, timeout=SECONDS)
    except httpx2.HTTPError as error:
        return type(error).__name__
    return None
