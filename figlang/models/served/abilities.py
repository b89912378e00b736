"""The abilities of an endpoint, found out by a few short requests."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from figlang.errors import FiglangError
from figlang.models.served.client import Client
from figlang.models.served.cost import BYTES_PER_TOKEN
from figlang.models.served.refusal import Answer, EndpointError
from figlang.models.served.spans import PROMPT_FORMS, Token, likeliest, tokens_of
from figlang.models.served.store import Call

PROBE = "The room was as hot as an oven. It was very hot in there, and nobody could sleep that night."
TOLERANCE = (
    # largest difference between two log-probabilities of the same token: servers compute in few bits, and
    # batches differ
    0.3
)
HELLO = "Reply with the letter A."
# Ways to ask for a short, greedy reply, in the order in which they are tried. Newer models refuse max_tokens
# or any temperature.
REPLIES: tuple[dict[str, Any], ...] = (
    {"max_tokens": 16, "temperature": 0},
    {"max_completion_tokens": 16, "temperature": 0},
    {"max_completion_tokens": 16},
)
CHECKS = 2  # a higher number makes stored findings of earlier versions invalid
# Statuses that refuse a request without meaning that the endpoint is unwell. Some servers answer 500 to what
# they cannot do, or 200 with nothing but an error.
REFUSALS = (200, 400, 404, 405, 422, 500, 501)


@dataclass(frozen=True)
class Abilities:
    """The abilities of an endpoint.

    Attributes:
        prompts: How it gives log-probabilities of a prompt (a key of PROMPT_FORMS), or None.
        completes: Whether it continues a text.
        ranks: Whether it then shows the likeliest tokens.
        reply: Fields of a chat request that it accepts, or None.
        starts: Whether it puts a token of its own before a prompt.
        bytes_per_token: Mean number of bytes of a token.
        refusals: What the endpoint says about abilities that it lacks.
    """

    prompts: str | None = None
    completes: bool = False
    ranks: bool = False
    reply: Mapping[str, Any] | None = None
    starts: bool = False
    bytes_per_token: float = BYTES_PER_TOKEN
    refusals: Mapping[str, str] = field(default_factory=dict)

    @property
    def writes(self) -> bool:
        """Whether it gives free text, by completions or by chat."""
        return self.completes or self.reply is not None

    @property
    def words(self) -> bool:
        """Whether it gives words at a blank, by ranks or by a reply."""
        return self.ranks or self.reply is not None

    def __str__(self) -> str:
        able = [f"log-probabilities of prompts (by {self.prompts})"] if self.prompts else []
        if self.completes:
            able.append("completions with the likeliest tokens" if self.ranks else "completions")
        if self.reply is not None:
            able.append(
                "chat" if "temperature" in self.reply else "chat (not greedy: it takes no temperature)"
            )
        return ", ".join(able)


def opening(bos: str) -> str:
    """The text that is sent before every string: the token that begins one.

    It is empty if the server adds that token.
    """
    return "" if bos in ("auto", "none", "server") else bos


def abilities(client: Client, needed: str) -> Abilities:
    """Find out what the endpoint can do.

    The findings of an earlier evaluation are used if they have the needed ability. Otherwise some short
    requests are sent, but not by a dry run, which takes the usual abilities for granted.

    Args:
        client: The endpoint.
        needed: A field of `Abilities` that must be true.

    Raises:
        FiglangError: If the endpoint can do nothing. It gives the endpoint's words and the models it has.
    """
    record = Call("probe", {"before": opening(client.model.bos), "checks": CHECKS})
    with client.store as store:
        known = Abilities(**store[record]) if record in store else None
    if known is not None and getattr(known, needed):
        return known
    if client.model.dry_run:
        return Abilities("echo", True, True, REPLIES[0])
    probed = _probe(client)
    with client.store as store:
        store[record] = asdict(probed)
    return probed


def _probe(client: Client) -> Abilities:
    name, before = client.model.name_or_path, opening(client.model.bos)
    refusals: dict[str, str] = {}

    def tried(what: str, route: str, body: Mapping[str, Any]) -> Answer | None:
        try:
            return client.attempt(Call(route, {"model": name, **body}))
        except EndpointError as error:
            if error.status not in REFUSALS:
                raise
            refusals[what] = str(error)
            return None

    prompts, starts, ratio, completes = None, False, BYTES_PER_TOKEN, False
    continued = tried(
        "completions",
        "completions",
        {"prompt": before + PROBE, "logprobs": 1, "max_tokens": 1, "temperature": 0},
    )
    # Logprobs are not asked for, because some servers do not know them and free text does not need them.
    completes = (
        continued is not None
        or tried("completions", "completions", {"prompt": PROBE, "max_tokens": 1}) is not None
    )
    ranks = bool(likeliest(continued or {}))
    if not ranks:
        refusals["ranks"] = refusals.get(
            "completions", f"{client.model.base_url} shows no likeliest tokens (logprobs)"
        )
    for form, fields in PROMPT_FORMS.items():
        text = before + PROBE + _next(continued)[0]
        answer = tried(form, "completions", {"prompt": text, **fields}) if completes else None
        try:
            tokens = tokens_of(answer or {}, text, before)
            _check_aligned(tokens, text, *_next(continued))
        except FiglangError as error:
            refusals.setdefault(
                form, f"{client.model.base_url}: {error}" if completes else refusals["completions"]
            )
            continue
        prompts, starts, ratio = form, not before and tokens[0].end == 0, len(text.encode()) / len(tokens)
        break
    message = [{"role": "user", "content": HELLO}]
    asked = (
        reply
        for reply in REPLIES
        if tried("chat", "chat/completions", {"messages": message, **reply}) is not None
    )
    reply = next(asked, None)
    if not completes and reply is None:
        listed = client.models()
        listing = f"; its models are {', '.join(listed[:10])}" if listed and name not in listed else ""
        raise FiglangError(f"model.name={name}: {refusals['chat']}{listing}")
    return Abilities(prompts, completes, ranks, reply, starts, ratio, refusals)


def _next(answer: Answer | None) -> tuple[str, float | None]:
    """The token that a server generated, and its log-probability."""
    try:
        log_probs = (answer or {})["choices"][0]["logprobs"]
        return str(log_probs["tokens"][0]), float(log_probs["token_logprobs"][0])
    except (KeyError, IndexError, TypeError, ValueError, OverflowError):
        return "", None


def _check_aligned(tokens: Sequence[Token], text: str, word: str, log_prob: float | None) -> None:
    """Check that a generated token has the same log-probability when it ends a prompt.

    llama-cpp-python gives every token of a prompt the value of the one before it, unless the prompt begins
    with its bos.

    Raises:
        FiglangError: If it does not.
    """
    last = tokens[-1]
    if log_prob is None or last.log_prob is None or text[last.start : last.end] != word:
        return  # it cannot be checked: the server does not say, or divides the text into other tokens
    if abs(last.log_prob - log_prob) > TOLERANCE:
        raise FiglangError(
            f"its log-probabilities of prompts are wrong: {word!r} has {log_prob:.2f} when generated, "
            f"but {last.log_prob:.2f} in a prompt; set model.bos to the text of the token that begins a "
            "string, for example <s> or <|im_start|>"
        )
