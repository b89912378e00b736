"""A model behind an endpoint as evaluations use it: it reads prompts, continues texts and replies."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from figlang.config import ModelConfig, SamplingConfig
from figlang.errors import FiglangError
from figlang.models.served.abilities import Abilities, abilities
from figlang.models.served.client import Client
from figlang.models.served.cost import usage
from figlang.models.served.refusal import Answer, refused
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
        """Its part of a signature. The server decides which weights answer, and in which precision."""
        return {"endpoint": self.client.model.base_url, "precision": "unknown"}

    def taken(self) -> dict[str, Any]:
        """Requests, tokens and cost of the answers that were used since the last call (`Meter.taken`)."""
        return self.client.meter.taken()

    def read(
        self, texts: Sequence[str], progress: bool = False, before: str = ""
    ) -> list[list[Token] | None]:
        """The tokens of every text with their log-probabilities.

        None for a text that a content filter refused.

        Args:
            texts: The texts.
            progress: Show a bar.
            before: The special token that every text begins with.
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
            None if refused(answer) else tokens_of(answer, text, before)
            for text, answer in zip(texts, answers, strict=True)
        ]

    def likeliest(
        self, texts: Sequence[str], count: int, progress: bool = False, suffixes: Sequence[str] = ()
    ) -> list[list[tuple[str, float]]]:
        """The likeliest next tokens of every text with their log-probabilities (in nats), likeliest first.

        Args:
            texts: The texts.
            count: Largest number of tokens for a text.
            progress: Show a bar.
            suffixes: If given, the tokens stand between a text and its suffix. An empty suffix is none.
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
        fields = dict(self.abilities.reply or {})
        limit = next(name for name in fields if name.endswith("tokens"))
        fields = {**fields, limit: sampling.max_tokens, **_drawn(sampling)}
        bodies = [
            {"messages": [{"role": "user", "content": prompt}], **fields, **seed}
            for prompt in prompts
            for seed in _seeds(sampling)
        ]
        answers = self._ask("chat/completions", bodies, _unspoken, progress)
        replies = [
            Reply(
                _spoken(answer) or "",
                _choice(answer).get("finish_reason") == "length",
                refused(answer),
                usage(answer) or None,
            )
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
        """`sampling.n` continuations of every prompt, without the prompt.

        With `suffixes`, a continuation is inserted between a prompt and its suffix.
        """
        fields = {"max_tokens": sampling.max_tokens, "temperature": 0, **_drawn(sampling)}
        bodies = [
            {**body, **fields, **seed} for body in _bodies(prompts, suffixes) for seed in _seeds(sampling)
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
    """Connect to the endpoint of a model, and check what it can do.

    Args:
        model: Settings of the model.
        cache: Folder for stored answers.
        needed: The ability that the evaluation needs: `prompts` (their log-probabilities), `reply`, `writes`
            (free text) or `words` (words at a blank).

    Raises:
        FiglangError: If the endpoint lacks the ability. It gives the reason and says what would work.
    """
    client = Client(model, cache)
    known = abilities(client, needed)
    log.info("%s, model %s: %s", model.base_url, model.name_or_path, known)
    client.meter.bytes_per_token = known.bytes_per_token
    if needed == "prompts" and not known.prompts:
        works = "scoring=letter" if known.reply is not None else "figlang generate"
        raise FiglangError(
            f"likelihood scoring needs log-probabilities of prompts, but {known.refusals['echo']}; {works} "
            "works with this endpoint"
        )
    if needed == "reply" and known.reply is None:
        works = (
            "scoring=clean works with this endpoint"
            if known.prompts
            else "figlang generate works with this endpoint"
        )
        raise FiglangError(f"scoring=letter needs a chat, but {known.refusals['chat']}; {works}")
    if needed == "words" and not known.words:
        raise FiglangError(
            f"ranks of words need the likeliest tokens or a chat, but {known.refusals['ranks']}; python -m "
            "figlang generate works with this endpoint"
        )
    return Endpoint(client, known)


def _bodies(prompts: Sequence[str], suffixes: Sequence[str]) -> list[dict[str, Any]]:
    """Requests for prompts, with OpenAI's field `suffix` where there is one."""
    after = suffixes or [""] * len(prompts)
    return [
        {"prompt": prompt} | ({"suffix": suffix} if suffix else {})
        for prompt, suffix in zip(prompts, after, strict=True)
    ]


def _drawn(sampling: SamplingConfig) -> dict[str, Any]:
    return {"temperature": sampling.temperature, "top_p": sampling.top_p} if sampling.temperature > 0 else {}


def _seeds(sampling: SamplingConfig) -> list[dict[str, Any]]:
    # Each has its own seed instead of the field `n`, which many servers do not know. Greedy texts need no
    # seed.
    return (
        [{"seed": sampling.seed + number} for number in range(sampling.n)]
        if sampling.temperature > 0
        else [{}]
    )


def _unranked(call: Call, answer: Answer) -> str | None:
    return (
        None
        if likeliest(answer)
        else "an answer does not show the likeliest tokens, although earlier ones did"
    )


def _unspoken(call: Call, answer: Answer) -> str | None:
    return "an answer holds no message" if _spoken(answer) is None else None


def _spoken(answer: Answer) -> str | None:
    """The text of a reply; None if the answer is not a reply.

    The text may come in parts, some of them reasoning, or be missing.
    """
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
