"""The group protocol: how a chat model is asked to choose."""

from dataclasses import dataclass, field
from typing import Any

from figlang.config.section import AMOUNT, COUNT, SEED, TOKENS, Range, Section, option, words
from figlang.errors import FiglangError

KINDS = ("letter", "cot", "two_step", "logprobs", "score")
LANGUAGES = ("en", "de", "es", "fr", "id")


@dataclass
class ProtocolConfig(Section):
    """How a chat model, here or behind an endpoint, is asked to choose."""

    name: str = option("letter", "Name in reports and signatures.")
    kind: str = option(
        "letter",
        "letter: the reply names an option. cot: reasoning, then a last line with a letter. two_step: the "
        "meaning in words first, then the choice. logprobs: the likeliest letter as the first token. score: "
        "a rating from 1 to 7 of each option, also backward.",
        KINDS,
    )
    n: int = option(
        1,
        "Replies to a question, drawn at protocol.temperature. The letter of most of them counts; a tie is "
        "not a choice. score: the mean of the ratings counts.",
        within=COUNT,
    )
    temperature: float = option(0.0, "0: take the likeliest token. Above 0: draw tokens.", within=AMOUNT)
    top_p: float = option(
        1.0,
        "Draw from the likeliest tokens whose probabilities add up to this.",
        within=Range(above=0, most=1),
    )
    seed: int = option(0, "Seed of the draws.", within=SEED)
    max_tokens: int | None = option(
        None, "Longest reply in tokens, with reasoning. null: scoring.max_tokens.", within=TOKENS
    )
    system: str = option("", "Text of the system message. Empty: there is none.")
    language: str = option(
        "en",
        "Language of the instructions and of figlang's own question about pairs. Published questions stay "
        "English.",
        LANGUAGES,
    )
    chat: str = option(
        "template",
        "template: write a conversation as the model's chat template says. plain: write User: or Assistant: "
        "before each turn, for a network without a chat template.",
        ("template", "plain"),
    )
    turns: bool = option(False, "Show the examples of prompt.k as turns of the conversation, not as text.")
    rating: str = option(
        "written",
        "score: the number that the reply is (written), or the mean of 1 to 7 by their probabilities as its "
        "first token (expected). Small models seldom reply with a number alone.",
        ("written", "expected"),
    )
    constrain: str = option(
        "none",
        "served: let the server allow letters only. response_format: a JSON schema. structured_outputs and "
        "guided_choice: the fields of newer and older vLLM.",
        ("none", "response_format", "structured_outputs", "guided_choice"),
    )
    chat_template_kwargs: dict[str, Any] = field(
        default_factory=dict,
        metadata={
            "help": "Settings of the chat template, for example {enable_thinking: false}. A server gets them "
            "as a field of the request.",
            "choices": (),
        },
    )
    reasoning_effort: str | None = option(
        None, "served: how long the model reasons, as the server calls it: low, medium, high."
    )
    think_tags: list[str] = words(
        "The two tags around the reasoning of a model that has its own, for example ['<plan>','</plan>']."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n > 1 and self.temperature == 0:
            raise FiglangError(
                f"protocol.n={self.n} replies would all be the same at protocol.temperature=0; raise the "
                "temperature, for example protocol.temperature=0.7"
            )
        if self.kind == "logprobs" and (self.n > 1 or self.temperature or self.constrain != "none"):
            raise FiglangError(
                "protocol.kind=logprobs reads probabilities and no reply; leave protocol.n, "
                "protocol.temperature and protocol.constrain out"
            )
        if self.rating == "expected" and (self.kind != "score" or self.n > 1 or self.temperature):
            raise FiglangError(
                "protocol.rating=expected is for protocol=score, and reads probabilities and no reply; leave "
                "protocol.n and protocol.temperature out"
            )
        if self.constrain != "none" and self.kind not in ("letter", "two_step"):
            raise FiglangError(
                f"protocol.constrain={self.constrain} allows letters only, but protocol.kind={self.kind} "
                "needs other text; leave it out"
            )
        if self.think_tags and (len(self.think_tags) != 2 or not all(self.think_tags)):
            raise FiglangError(
                "protocol.think_tags takes two tags, for example protocol.think_tags=['<plan>','</plan>']"
            )
