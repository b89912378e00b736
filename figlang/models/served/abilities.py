"""What an endpoint can do, found out by asking it once."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from figlang.errors import FiglangError
from figlang.models.served.client import Answer, Client, EndpointError
from figlang.models.served.cost import BYTES_PER_TOKEN
from figlang.models.served.spans import PROMPT_FORMS, Token, likeliest, tokens_of
from figlang.models.served.store import Call

PROBE = "The room was as hot as an oven. It was very hot in there, and nobody could sleep that night."
TOLERANCE = (
    0.3  # between two log-probabilities of the same token: servers compute in few bits, and batches differ
)
HELLO = "Reply with the letter A."
# How a reply is kept short and greedy, in the order in which it is tried: newer models refuse max_tokens, or
# any temperature.
REPLIES: tuple[dict[str, Any], ...] = (
    {"max_tokens": 16, "temperature": 0},
    {"max_completion_tokens": 16, "temperature": 0},
    {"max_completion_tokens": 16},
)
CHECKS = 2  # grows when a probe looks closer than before, so that no earlier finding is believed
# Statuses that say no to what was asked, and not that the endpoint is unwell. Some servers fail with 500 on
# what they cannot do, or answer 200 with nothing but an error.
REFUSALS = (200, 400, 404, 405, 422, 500, 501)


@dataclass(frozen=True)
class Abilities:
    """`prompts` is the form in which the endpoint gives log-probabilities of a prompt (see PROMPT_FORMS),
    `completes` whether it continues a text, `ranks` whether it then shows the likeliest tokens, `reply` what
    its chat is asked with; each is None or False where it cannot.

    `starts` says that the endpoint puts a token of its own before a prompt. `refusals` are its words for what
    it cannot do.
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
        """Whether it gives free text, one way or another."""
        return self.completes or self.reply is not None

    @property
    def words(self) -> bool:
        """Whether words at a blank can be had of it, by their ranks or by a reply."""
        return self.ranks or self.reply is not None

    def __str__(self) -> str:
        found = [f"log-probabilities of prompts (by {self.prompts})"] if self.prompts else []
        if self.completes:
            found.append("completions with the likeliest tokens" if self.ranks else "completions")
        if self.reply is not None:
            found.append(
                "chat" if "temperature" in self.reply else "chat (not greedy: it takes no temperature)"
            )
        return ", ".join(found)


def opening(bos: str) -> str:
    """The text that is sent before every string: a token that begins one, unless the server puts it there."""
    return "" if bos in ("auto", "none", "server") else bos


def abilities(client: Client, needed: str) -> Abilities:
    """What the endpoint can do: as an earlier evaluation found it if that was enough for what is `needed` (a
    field that has to be true), else by some short requests.

    Raises FiglangError if it does nothing at all, with what it says and the models it has.
    """
    record = Call("probe", {"before": opening(client.model.bos), "checks": CHECKS})
    with client.store as store:
        known = Abilities(**store[record]) if record in store else None
    if known is not None and getattr(known, needed):
        return known
    found = _probe(client)
    with client.store as store:
        store[record] = asdict(found)
    return found


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
    ahead = tried(
        "completions",
        "completions",
        {"prompt": before + PROBE, "logprobs": 1, "max_tokens": 1, "temperature": 0},
    )
    # Without the field that some servers do not know: free text needs none.
    completes = (
        ahead is not None
        or tried("completions", "completions", {"prompt": PROBE, "max_tokens": 1}) is not None
    )
    ranks = bool(likeliest(ahead or {}))
    if not ranks:
        refusals["ranks"] = refusals.get(
            "completions", f"{client.model.base_url} shows no likeliest tokens (logprobs)"
        )
    for form, fields in PROMPT_FORMS.items():
        text = before + PROBE + _next(ahead)[0]
        answer = tried(form, "completions", {"prompt": text, **fields}) if completes else None
        try:
            tokens = tokens_of(answer or {}, text, before)
            _check_aligned(tokens, text, *_next(ahead))
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
        here = f"; its models are {', '.join(listed[:10])}" if listed and name not in listed else ""
        raise FiglangError(f"model.name={name}: {refusals['chat']}{here}")
    return Abilities(prompts, completes, ranks, reply, starts, ratio, refusals)


def _next(answer: Answer | None) -> tuple[str, float | None]:
    """The token that a server generated, and its log-probability."""
    try:
        found = (answer or {})["choices"][0]["logprobs"]
        return str(found["tokens"][0]), float(found["token_logprobs"][0])
    except (KeyError, IndexError, TypeError, ValueError):
        return "", None


def _check_aligned(tokens: Sequence[Token], text: str, word: str, log_prob: float | None) -> None:
    """Raises FiglangError if the token that was generated has another log-probability where it ends a prompt.

    llama-cpp-python gives every token of a prompt the value of the one before it, unless the prompt begins
    with its bos.
    """
    last = tokens[-1]
    if log_prob is None or last.log_prob is None or text[last.start : last.end] != word:
        return  # it cannot be told: a server that does not say, or another division into tokens
    if abs(last.log_prob - log_prob) > TOLERANCE:
        raise FiglangError(
            f"its log-probabilities of prompts are wrong: {word!r} has {log_prob:.2f} when generated, and "
            f"{last.log_prob:.2f} in a "
            "prompt; set model.bos to the text of the token that begins a string, <s> or <|im_start|> say"
        )
