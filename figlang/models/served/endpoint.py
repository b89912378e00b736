"""A model behind an endpoint as evaluations use it: it reads prompts, continues texts and replies."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from figlang.config import ModelConfig, ProtocolConfig, SamplingConfig
from figlang.errors import FiglangError
from figlang.models.served import chatting
from figlang.models.served.abilities import Abilities, abilities
from figlang.models.served.client import Client
from figlang.models.served.refusal import Answer, refused
from figlang.models.served.spans import PROMPT_FORMS, Token, likeliest, tokens_of
from figlang.models.served.store import Call
from figlang.types import Chat, Reply

log = logging.getLogger("figlang")


@dataclass(frozen=True)
class Endpoint:
    """A served model and what its endpoint can do."""

    client: Client
    abilities: Abilities

    @property
    def facts(self) -> dict[str, Any]:
        """Its part of a signature. The server decides which weights answer, and in which precision."""
        own, api = self.client.model.extra_body, self.client.model.api
        extra = {"extra_body": json.dumps(dict(own), sort_keys=True)} if own else {}
        other = {} if api == "openai" else {"api": api}
        return {"endpoint": self.client.model.base_url, **other, "precision": "unknown", **extra}

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
            suffixes: If given, the tokens stand between a text and its suffix. An empty suffix has no effect.
        """
        fields = {"logprobs": count, "max_tokens": 1, "temperature": 0}
        answers = self._ask(
            "completions", [{**body, **fields} for body in _bodies(texts, suffixes)], _unranked, progress
        )
        return [likeliest(answer)[:count] for answer in answers]

    def chat(
        self,
        chats: Sequence[str | Chat],
        sampling: SamplingConfig,
        settings: ProtocolConfig | None = None,
        letters: Sequence[int] = (),
        progress: bool = False,
    ) -> list[list[Reply]]:
        """`sampling.n` replies to every conversation.

        Args:
            chats: The conversations. A text is a message of the user.
            sampling: How replies are drawn.
            settings: The protocol; None for the usual one.
            letters: For each conversation how many letters the server may allow; empty: replies are free.
            progress: Show a bar.
        """
        settings = settings or ProtocolConfig()
        fields = {**self._reply_of(sampling.max_tokens), **chatting.drawn(sampling)}
        bodies = [
            {
                "messages": chatting.messages(chat),
                **fields,
                **chatting.fields(settings),
                **chatting.constrained(settings, count),
                **seed,
            }
            for chat, count in zip(chats, letters or [0] * len(chats), strict=True)
            for seed in chatting.seeds(sampling)
        ]
        answers = self._ask("chat/completions", bodies, chatting.unspoken, progress)
        replies = [chatting.reply_of(answer) for answer in answers]
        return [replies[start : start + sampling.n] for start in range(0, len(replies), sampling.n)]

    def first_tokens(
        self, chats: Sequence[Chat], count: int, settings: ProtocolConfig, progress: bool = False
    ) -> list[list[tuple[str, float]]]:
        """The likeliest first tokens of the reply to every conversation, with their log-probabilities.

        A conversation that a content filter refused has none.

        Args:
            chats: The conversations.
            count: Largest number of tokens of a conversation.
            settings: The protocol.
            progress: Show a bar.
        """
        fields = {"logprobs": True, "top_logprobs": count, **chatting.fields(settings)}
        bodies = [{"messages": chatting.messages(chat), **self._reply_of(1), **fields} for chat in chats]
        answers = self._ask("chat/completions", bodies, chatting.untold, progress)
        return [chatting.first_tokens(answer) for answer in answers]

    def _reply_of(self, most: int) -> dict[str, Any]:
        """The fields by which this endpoint replies, with at most so many tokens."""
        fields = self.abilities.reply or {}
        return {name: most if name.endswith("tokens") else value for name, value in fields.items()}

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
        fields = {"max_tokens": sampling.max_tokens, "temperature": 0, **chatting.drawn(sampling)}
        bodies = [
            {**body, **fields, **seed}
            for body in _bodies(prompts, suffixes)
            for seed in chatting.seeds(sampling)
        ]
        texts = [
            str(chatting.choice(answer).get("text") or "")
            for answer in self._ask("completions", bodies, _unwritten, progress)
        ]
        return [texts[start : start + sampling.n] for start in range(0, len(texts), sampling.n)]

    def _ask(
        self, route: str, bodies: Sequence[dict[str, Any]], unusable: Any, progress: bool
    ) -> list[Answer]:
        model = self.client.model
        calls = [
            Call(route, {"model": model.name_or_path, **body, **dict(model.extra_body)}) for body in bodies
        ]
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
    if not model.dry_run:  # which has not asked
        log.info("%s, model %s: %s", model.base_url, model.name_or_path, known)
    client.meter.bytes_per_token = known.bytes_per_token
    if needed == "prompts" and not known.prompts:
        works = (
            "this endpoint can do scoring=letter (figlang evaluate) and ask=reply (figlang judge)"
            if known.reply is not None
            else "figlang generate works with this endpoint"
        )
        raise FiglangError(
            "likelihood scoring (scoring=clean, unless another is given) needs log-probabilities of prompts, "
            f"but {known.refusals['echo']}; {works}"
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
            f"ranks of words need the likeliest tokens or a chat, but {known.refusals['ranks']}; "
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


def _unranked(call: Call, answer: Answer) -> str | None:
    return (
        None
        if likeliest(answer)
        else "an answer does not show the likeliest tokens, although earlier ones did"
    )


def _unwritten(call: Call, answer: Answer) -> str | None:
    return None if isinstance(chatting.choice(answer).get("text"), str) else "an answer holds no text"
