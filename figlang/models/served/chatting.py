"""Chat requests and what is read from the answers to them."""

from collections.abc import Mapping
from string import ascii_uppercase
from typing import Any

from figlang.config import ProtocolConfig, SamplingConfig
from figlang.models.served.cost import usage
from figlang.models.served.refusal import Answer, refused
from figlang.models.served.spans import numbers
from figlang.models.served.store import Call
from figlang.types import Chat, Reply, said

# Fields in which servers send reasoning apart from the reply: vLLM, SGLang and DeepSeek; OpenRouter and
# newer vLLM.
REASONING = ("reasoning_content", "reasoning")


def messages(chat: str | Chat) -> list[dict[str, str]]:
    """A conversation, or the message of a user, as a field of a request."""
    return [turn._asdict() for turn in (said(chat) if isinstance(chat, str) else chat)]


def fields(settings: ProtocolConfig) -> dict[str, Any]:
    """The fields of a request that a protocol sets, beside those of sampling."""
    found = {
        "chat_template_kwargs": dict(settings.chat_template_kwargs),
        "reasoning_effort": settings.reasoning_effort,
    }
    return {name: value for name, value in found.items() if value}


def constrained(settings: ProtocolConfig, count: int) -> dict[str, Any]:
    """The fields that let a server allow only the first `count` letters; none for a free reply."""
    choices = list(ascii_uppercase[:count])
    if not count or settings.constrain == "none":
        return {}
    if settings.constrain == "guided_choice":
        return {"guided_choice": choices}
    if settings.constrain == "structured_outputs":
        return {"structured_outputs": {"choice": choices}}
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": choices}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    form = {"name": "choice", "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": form}}


def drawn(sampling: SamplingConfig) -> dict[str, Any]:
    """The fields of sampling; none for a greedy reply."""
    return {"temperature": sampling.temperature, "top_p": sampling.top_p} if sampling.temperature > 0 else {}


def seeds(sampling: SamplingConfig) -> list[dict[str, Any]]:
    """A field for each reply to a message.

    Each has its own seed instead of the field `n`, which many servers do not know. Greedy texts need no seed.
    """
    if sampling.temperature == 0:
        return [{}]
    return [{"seed": sampling.seed + number} for number in range(sampling.n)]


def reply_of(answer: Answer) -> Reply:
    """The reply of an answer."""
    message = choice(answer).get("message")
    apart = [message.get(name) for name in REASONING] if isinstance(message, dict) else []
    return Reply(
        _spoken(answer) or "",
        choice(answer).get("finish_reason") == "length",
        refused(answer),
        usage(answer) or None,
        next((text for text in apart if isinstance(text, str) and text), ""),
    )


def unspoken(call: Call, answer: Answer) -> str | None:
    """Why an answer is not a reply; None if it is one."""
    return "an answer holds no message" if _spoken(answer) is None else None


def _spoken(answer: Answer) -> str | None:
    """The text of a reply; None if the answer is not a reply.

    The text may come in parts, some of them reasoning, or be missing. OpenAI's models decline to fill a JSON
    schema in the field `refusal`.
    """
    message = choice(answer).get("message")
    content = (message.get("content") or message.get("refusal") or "") if isinstance(message, dict) else None
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
        content = "".join(str(part.get("text", "")) for part in parts)
    return content if isinstance(content, str) else None


def first_tokens(answer: Answer) -> list[tuple[str, float]]:
    """The likeliest first tokens of a reply with their log-probabilities; none if the answer has none."""
    try:
        shown = choice(answer)["logprobs"]["content"][0]["top_logprobs"]
        return numbers((one["token"], one["logprob"]) for one in shown)
    except (KeyError, IndexError, TypeError, ValueError, OverflowError):
        return []


def untold(call: Call, answer: Answer) -> str | None:
    """Why an answer shows no likeliest tokens; None if it shows some."""
    if first_tokens(answer):
        return None
    return "an answer shows no likeliest tokens of a reply (logprobs); use protocol=letter"


def choice(answer: Answer) -> Mapping[str, Any]:
    """The first choice of an answer; empty if it has none."""
    choices = answer.get("choices") if isinstance(answer, dict) else None
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
