"""Refused requests: the error, and the empty answer that is stored if a content filter stopped a prompt."""

import re
from typing import Any

from figlang.errors import FiglangError

Answer = dict[str, Any]
# Words by which content filters refuse a prompt: OpenAI, Azure, Anthropic, OpenRouter, Gemini, DashScope,
# Zhipu.
FILTERED = "content_filter"
FILTER = re.compile(
    r"content.?(?:filter|polic|management|moderation|inspection)|data.?inspection|responsible.?ai|moderation|flagged|usage polic|"
    r"invalid_prompt|(?:inappropriate|unsafe|sensitive|prohibited).?content|block.?reason|safety (?:system|filter|setting)",
    flags=re.IGNORECASE,
)


class EndpointError(FiglangError):
    """A request that failed.

    Attributes:
        status: The HTTP status; None without an answer.
        filtered: Whether a content filter refused this prompt. Other prompts may pass.
        again: Whether another try can help.
        after: The seconds that the server asks to wait before it; None if it does not ask.
    """

    def __init__(
        self,
        message: str,
        status: int | None,
        filtered: bool = False,
        again: bool = False,
        after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.filtered = filtered
        self.again = again
        self.after = after


def refused(answer: Answer) -> bool:
    """Whether a content filter refused the prompt or stopped the answer."""
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return isinstance(first, dict) and first.get("finish_reason") == FILTERED


def refusal(said: str) -> Answer:
    """The answer that is stored for a refused prompt, so that it is not sent again."""
    message = {"content": ""}
    return {
        "choices": [{"text": "", "message": message, "logprobs": None, "finish_reason": FILTERED}],
        "refusal": said,
    }
