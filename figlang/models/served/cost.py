"""Tokens and money for requests: an estimate before, and a count while they are sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from figlang.config import ModelConfig
from figlang.models.served.store import Call

BYTES_PER_TOKEN = 4.0  # a value for English under most vocabularies, until an endpoint has shown its own


@dataclass
class Meter:
    """Counts tokens that went in and came out, and their price.

    Attributes:
        model: Settings with the prices, per million tokens.
        bytes_per_token: For estimates.
        sent: Tokens that went in.
        received: Tokens that came out.
        hidden: The largest number of tokens that a chat template added to a prompt.
    """

    model: ModelConfig
    bytes_per_token: float = BYTES_PER_TOKEN
    sent: int = 0
    received: int = 0
    hidden: int = 0

    def estimate(self, calls: Sequence[Call]) -> tuple[int, int]:
        """Estimate the tokens of requests.

        Returns:
            The tokens that go in, by the length of the text, and the most that can come out.
        """
        sent = sum(_bytes(call) / self.bytes_per_token for call in calls)
        return round(sent), sum(_most(call.body) for call in calls)

    def price(self, sent: float, received: float) -> float:
        """Price of a number of tokens in and out."""
        return (sent * self.model.input_price + received * self.model.output_price) / 1e6

    @property
    def cost(self) -> float:
        return self.price(self.sent, self.received)

    def bound(self, calls: Sequence[Call]) -> float:
        """The highest price of requests: a token has at least one byte."""
        return self.price(
            sum(_bytes(call) + self.hidden for call in calls), sum(_most(call.body) for call in calls)
        )

    def add(self, call: Call, answer: Mapping[str, Any]) -> None:
        """Count an answer, by the endpoint's own numbers or, without them, by the estimate."""
        sent, received = _said(answer, "prompt_tokens"), _said(answer, "completion_tokens")
        likely, most = self.estimate([call])
        self.hidden = max(self.hidden, sent - _bytes(call))
        self.sent += sent or likely
        # A server that counts the prompt may leave out the field if nothing came back.
        self.received += received or (0 if sent else most)

    def says(self, sent: int, received: int, most: bool = False) -> str:
        """Format tokens and, if there are prices, their cost as text."""
        tokens = f"{sent:,} tokens in, {'at most ' if most else ''}{received:,} out"
        if not self.model.input_price + self.model.output_price:
            return tokens
        low = self.price(sent, 0)
        return f"{tokens}, cost {f'{low:.4g} to ' if most else ''}{self.price(sent, received):.4g}"


def _said(answer: Mapping[str, Any], name: str) -> int:
    usage = answer.get("usage")
    value = usage.get(name) if isinstance(usage, Mapping) else None
    return value if isinstance(value, int) else 0


def _bytes(call: Call) -> int:
    words = (
        call.body["prompt"]
        if "prompt" in call.body
        else "".join(message["content"] for message in call.body["messages"])
    )
    return len(words.encode())


def _most(body: Mapping[str, Any]) -> int:
    return int(body.get("max_completion_tokens") or body.get("max_tokens") or 0)
