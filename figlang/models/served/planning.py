"""A dry run: what requests will take, before anything is sent."""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress

from figlang.errors import FiglangError
from figlang.models.served.cost import Meter
from figlang.models.served.refusal import Answer
from figlang.models.served.store import Call
from figlang.text.amounts import counted, form

log = logging.getLogger("figlang")


class NothingSentError(FiglangError):
    """The end of a dry run whose answers are needed to go on. Its message is the plan."""


class Plan:
    """The requests that would be sent, and those whose answers are stored.

    Args:
        meter: Counts tokens and money, by the settings of the model.
    """

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._rehearsed = False
        self._calls: dict[str, Call] = {}
        self._stored: set[str] = set()

    def add(self, missing: Sequence[Call], stored: Sequence[Call]) -> None:
        """Note the requests of a round."""
        self._calls |= {call.key: call for call in missing}
        self._stored |= {call.key for call in stored}

    def rehearse(self, asking: Callable[[], object]) -> None:
        """Let a command ask, and say what its requests take. What it makes of assumed answers is not kept.

        Args:
            asking: Asks everything that the command has to ask, and writes nothing.
        """
        level = log.level
        log.setLevel(logging.ERROR)  # the replies are assumed, so what is logged about them would be wrong
        self._rehearsed = True
        try:
            with suppress(NothingSentError):
                asking()
        finally:
            self._rehearsed = False
            log.setLevel(level)
        log.warning("%s", self)

    def assumed(self, call: Call) -> Answer:
        """An answer in place of one that is not sent: as long as it can be, since later requests may hold it.

        Raises:
            NothingSentError: The request has no answer that could be assumed, or the command would take it
                for a real one.
        """
        if not self._rehearsed:
            raise NothingSentError(
                f"{self}. These are the first requests of this command; later ones are not counted"
            )
        if "messages" not in call.body:
            raise NothingSentError(str(self))
        most = int(call.body.get("max_completion_tokens") or call.body.get("max_tokens") or 0)
        # A word is about a token.
        text = "word " * max(1, round(most * self._meter.bytes_per_token / 5))
        return {"choices": [{"message": {"content": text.strip()}, "finish_reason": "length"}]}

    def __str__(self) -> str:
        model, calls = self._meter.model, list(self._calls.values())
        sent, received = self._meter.estimate(calls)
        tokens = self._meter.says(sent, received, most=True)
        at_once = max(1, min(model.concurrency, len(calls)))
        seconds = received / model.speed / at_once
        speed = f"{model.speed:g} tokens a second in each of {at_once} at a time (model.speed)"
        stored = len(self._stored)
        return (
            f"dry run: {counted(len(calls), 'request')} to {model.base_url} ({stored:,} more "
            f"{form(stored, 'is', 'are')} stored), "
            f"about {tokens}, at most about {_duration(seconds)} at {speed}; nothing was sent"
        )


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
