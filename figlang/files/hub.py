"""Whether the Hugging Face hub can be reached, found out once and quickly.

Its own client would try every file for half a minute.
"""

import logging
from functools import cache
from typing import Any

from huggingface_hub import constants, get_session, try_to_load_from_cache
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

from figlang.errors import FiglangError

log = logging.getLogger("figlang")

SECONDS = 5.0  # time for the hub's first answer, of any kind
FIRST = ("config.json", "adapter_config.json")


def check(name: str, revision: str | None = None) -> None:
    """Make the hub's client use its cache for `name` if the hub does not answer.

    Raises:
        FiglangError: If nothing is cached, or if the name cannot be a hub id. It says what would work.
    """
    try:
        validate_repo_id(name)
    except HFValidationError as error:
        raise FiglangError(
            f"{name!r} is not a folder here, and no hub id; give a folder, a hub id or package:<module>/PATH"
        ) from error
    if constants.HF_HUB_OFFLINE or (reason := _silence(constants.ENDPOINT)) is None:
        return
    kept: list[Any] = [try_to_load_from_cache(name, file, revision=revision) for file in FIRST]
    if not any(isinstance(path, str) for path in kept):
        raise FiglangError(
            f"{name} is not a folder here, and the hub {constants.ENDPOINT} cannot be reached "
            f"({reason}); give a folder, package:<module>/<path>, or internet access{_released(name)}"
        )
    log.warning("the hub cannot be reached (%s); the cached files of %s are used", reason, name)
    constants.HF_HUB_OFFLINE = True  # otherwise its client would try every file several times


def _released(name: str) -> str:
    """Where a released checkpoint is, for who types its name without a clone."""
    return (
        "; released checkpoints are in a clone of the repository" if name.startswith("checkpoints/") else ""
    )


@cache
def _silence(endpoint: str) -> str | None:
    """Why the hub does not answer; None if it answers."""
    import httpx2

    try:
        get_session().head(endpoint, timeout=SECONDS)
    except httpx2.HTTPError as error:
        return type(error).__name__
    return None
