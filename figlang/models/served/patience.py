"""Requests that failed are sent again, by the same rules whichever interface a server has."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from random import random

from figlang.models.served.refusal import Answer, EndpointError

PASSING = (408, 409, 429)  # statuses below 500 that another try may not meet
BUSY = (429, 503, 529)  # a server that says these can do what is asked, only not yet
FIRST, LONGEST = 0.5, 8.0  # seconds before another try if the server does not say how long
MOST = 120.0  # longest wait that a server may ask for; a daily limit asks for hours


def passes(status: int | None, headers: Mapping[str, str]) -> bool:
    """Whether another try can help after a status. A server may say so itself."""
    said = headers.get("x-should-retry")
    if said in ("true", "false"):
        return said == "true"
    return status is not None and (status in PASSING or status >= 500)


def wanted(headers: Mapping[str, str]) -> float | None:
    """The seconds that a server asks to wait, by its headers; None if it does not ask."""
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    said = headers.get("retry-after")
    if (seconds := _number(said)) is not None:
        return seconds
    with suppress(TypeError, ValueError):  # not a date either
        date = parsedate_to_datetime(said or "")
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - datetime.now(UTC).timestamp()
    return None


async def patiently(
    send: Callable[[], Awaitable[Answer]],
    retries: Callable[[EndpointError], int],
    stopped: asyncio.Event | None = None,
) -> Answer:
    """Send a request until it is answered.

    Args:
        send: Sends it once.
        retries: How often it is sent again after an error.
        stopped: Ends the waiting, since nothing has been paid for yet.

    Raises:
        EndpointError: The last error.
    """
    stopped = stopped or asyncio.Event()
    tried = 0
    while True:
        try:
            return await send()
        except EndpointError as error:
            pause = error.after
            if pause is None or not 0 < pause < float("inf"):
                pause = min(FIRST * 2.0 ** min(tried, 10), LONGEST) * (1 - random() / 4)
            if not error.again or tried >= retries(error) or pause > MOST or stopped.is_set():
                raise
            with suppress(TimeoutError):
                await asyncio.wait_for(stopped.wait(), pause)
            if stopped.is_set():
                raise
            tried += 1


def _number(said: str | None) -> float | None:
    with suppress(TypeError, ValueError):
        if isfinite(number := float(said or "")):
            return number
    return None
