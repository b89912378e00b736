"""A model behind an endpoint, as evaluations use it: prompts read, texts continued, replies."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from figlang.config import ModelConfig, SamplingConfig
from figlang.errors import FiglangError
from figlang.models.served.abilities import Abilities, abilities
from figlang.models.served.client import Answer, Client, refused
from figlang.models.served.spans import PROMPT_FORMS, Token, likeliest, tokens_of
from figlang.models.served.store import Call
from figlang.types import Reply

log = logging.getLogger("figlang")


@dataclass(frozen=True)
class Endpoint:
    """A served model and what its endpoint can do."""

    client: Client
    abilities: Abilities

    @property
    def facts(self) -> dict[str, Any]:
        """What it is, for a signature: which weights answer, and how precisely, is the server's."""
        return {"endpoint": self.client.model.base_url, "precision": "unknown"}

    def read(
        self, texts: Sequence[str], progress: bool = False, before: str = ""
    ) -> list[list[Token] | None]:
        """The tokens of every text with their log-probabilities, None for a text that a content filter
        refused.

        `before` is the special token that every text begins with.
        """
        form = PROMPT_FORMS[str(self.abilities.prompts)]

        def unread(call: Call, answer: Answer) -> str | None:
            try:
                tokens_of(answer, call.body["prompt"], before)
            except FiglangError as error:
                return str(error)
            return None

        answers = self._ask("completions", [{"prompt": text, **form} for text in texts], unread, progress)
        return [
            None if refused(each) else tokens_of(each, text, before)
            for text, each in zip(texts, answers, strict=True)
        ]

    def likeliest(
        self, texts: Sequence[str], count: int, progress: bool = False, suffixes: Sequence[str] = ()
    ) -> list[list[tuple[str, float]]]:
        """The likeliest next tokens of every text with their log-probabilities, likeliest first, `count` at
        most.

        With `suffixes` they are the likeliest between a text and its suffix; an empty suffix is none.
        """
        fields = {"logprobs": count, "max_tokens": 1, "temperature": 0}
        answers = self._ask(
            "completions", [{**body, **fields} for body in _bodies(texts, suffixes)], _unranked, progress
        )
        return [likeliest(answer)[:count] for answer in answers]

    def chat(
        self, prompts: Sequence[str], sampling: SamplingConfig, progress: bool = False
    ) -> list[list[Reply]]:
        """`sampling.n` replies to every prompt, each sent as a message of the user."""
        manner = dict(self.abilities.reply or {})
        limit = next(name for name in manner if name.endswith("tokens"))
        manner = {**manner, limit: sampling.max_tokens, **_drawn(sampling)}
        bodies = [
            {"messages": [{"role": "user", "content": prompt}], **manner, **seed}
            for prompt in prompts
            for seed in _seeds(sampling)
        ]
        answers = self._ask("chat/completions", bodies, _unspoken, progress)
        replies = [
            Reply(_spoken(answer) or "", _choice(answer).get("finish_reason") == "length", refused(answer))
            for answer in answers
        ]
        return [replies[start : start + sampling.n] for start in range(0, len(replies), sampling.n)]

    def complete(
        self,
        prompts: Sequence[str],
        sampling: SamplingConfig,
        progress: bool = False,
        suffixes: Sequence[str] = (),
    ) -> list[list[str]]:
        """`sampling.n` continuations of every prompt, without the prompt; with `suffixes`, insertions before
        them."""
        manner = {"max_tokens": sampling.max_tokens, "temperature": 0, **_drawn(sampling)}
        bodies = [
            {**body, **manner, **seed} for body in _bodies(prompts, suffixes) for seed in _seeds(sampling)
        ]
        texts = [
            str(_choice(answer).get("text") or "")
            for answer in self._ask("completions", bodies, _unwritten, progress)
        ]
        return [texts[start : start + sampling.n] for start in range(0, len(texts), sampling.n)]

    def _ask(
        self, route: str, bodies: Sequence[dict[str, Any]], unusable: Any, progress: bool
    ) -> list[Answer]:
        calls = [Call(route, {"model": self.client.model.name_or_path, **body}) for body in bodies]
        return self.client.ask(calls, unusable, progress)


def connect(model: ModelConfig, cache: str, needed: str) -> Endpoint:
    """The endpoint of `model`, probed for what an evaluation needs of it: `prompts` (their
    log-probabilities), `reply`, for free text `writes`, or, for words at a blank, `words`.

    Raises FiglangError for what the endpoint cannot do, with its reason and what would work.
    """
    client = Client(model, cache)
    found = abilities(client, needed)
    log.info("%s, model %s: %s", model.base_url, model.name_or_path, found)
    client.meter.bytes_per_token = found.bytes_per_token
    if needed == "prompts" and not found.prompts:
        works = "scoring=letter" if found.reply is not None else "python -m figlang generate"
        raise FiglangError(
            f"likelihood scoring needs log-probabilities of prompts, and {found.refusals['echo']}; {works} "
            "works with this endpoint"
        )
    if needed == "reply" and found.reply is None:
        works = (
            "scoring=clean works with this endpoint"
            if found.prompts
            else "python -m figlang generate works with this endpoint"
        )
        raise FiglangError(f"scoring=letter needs a chat, and {found.refusals['chat']}; {works}")
    if needed == "words" and not found.words:
        raise FiglangError(
            f"ranks of words need the likeliest tokens or a chat, and {found.refusals['ranks']}; python -m "
            "figlang generate works "
            "with this endpoint"
        )
    return Endpoint(client, found)


def _bodies(prompts: Sequence[str], suffixes: Sequence[str]) -> list[dict[str, Any]]:
    """Prompts as they are sent, with the field that OpenAI's interface calls `suffix` where there is one."""
    after = suffixes or [""] * len(prompts)
    return [
        {"prompt": prompt} | ({"suffix": suffix} if suffix else {})
        for prompt, suffix in zip(prompts, after, strict=True)
    ]


def _drawn(sampling: SamplingConfig) -> dict[str, Any]:
    return {"temperature": sampling.temperature, "top_p": sampling.top_p} if sampling.temperature > 0 else {}


def _seeds(sampling: SamplingConfig) -> list[dict[str, Any]]:
    # A seed for each, not the field `n`, which many servers do not know; greedy texts need none.
    return (
        [{"seed": sampling.seed + number} for number in range(sampling.n)]
        if sampling.temperature > 0
        else [{}]
    )


def _unranked(call: Call, answer: Answer) -> str | None:
    return (
        None if likeliest(answer) else "an answer does not show the likeliest tokens, though earlier ones did"
    )


def _unspoken(call: Call, answer: Answer) -> str | None:
    return "an answer holds no message" if _spoken(answer) is None else None


def _spoken(answer: Answer) -> str | None:
    """The text of a reply, which may come in parts, reasoning among them, or not at all; None if the answer
    is no reply."""
    message = _choice(answer).get("message")
    content = message.get("content") or "" if isinstance(message, dict) else None
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
        content = "".join(str(part.get("text", "")) for part in parts)
    return content if isinstance(content, str) else None


def _unwritten(call: Call, answer: Answer) -> str | None:
    return None if isinstance(_choice(answer).get("text"), str) else "an answer holds no text"


def _choice(answer: Answer) -> dict[str, Any]:
    choices = answer.get("choices") if isinstance(answer, dict) else None
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
