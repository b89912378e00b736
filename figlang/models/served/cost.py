"""Tokens and money for requests: an estimate before, a count while they are sent, and what a run took."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from figlang.config import ModelConfig
from figlang.models.served.store import Call

PROBES = 8  # requests whose replies are used to estimate the others
ENOUGH = 4 * PROBES  # fewer requests are estimated without them
PRICE = 0.5  # price of a request in a batch, as a share of the usual one
MOST = 1e15  # most tokens that an answer can take; a larger number of a server is not believed
BYTES_PER_TOKEN = 4.0  # a value for English under most vocabularies, until an endpoint has shown its own


def usage(answer: Mapping[str, Any]) -> dict[str, float]:
    """What the endpoint says that an answer took: `tokens_in`, `tokens_out` and, if it says so, `cost` and
    `tokens_reasoning`, which are a part of `tokens_out`."""
    said = answer.get("usage")
    names = {"prompt_tokens": "tokens_in", "completion_tokens": "tokens_out", "cost": "cost"}
    found = {own: said.get(name) for name, own in names.items()} if isinstance(said, Mapping) else {}
    details = said.get("completion_tokens_details") if isinstance(said, Mapping) else None
    if isinstance(details, Mapping) and details.get("reasoning_tokens"):
        found["tokens_reasoning"] = details["reasoning_tokens"]
    return {
        own: value
        for own, value in found.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MOST
    }


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
    _used: dict[str, dict[str, float]] = field(default_factory=dict, repr=False)

    def use(self, call: Call, answer: Mapping[str, Any]) -> None:
        """Note what an answer that is used took, whether it is new or was stored. Each counts once."""
        self._used[call.key] = usage(answer)

    def taken(self) -> dict[str, Any]:
        """What the answers took that were used since the last call, as the endpoint says: for metrics.json.

        `counted` is the number of requests whose tokens it says. The cost is what the endpoint says, if it
        says so for every answer. Otherwise it is that of the counted tokens by the prices that are set, and
        without prices there is none.
        """
        every, self._used = list(self._used.values()), {}
        if not every:
            return {}
        counted = [one for one in every if {"tokens_in", "tokens_out"} <= one.keys()]
        sent, received = (round(sum(one[name] for one in counted)) for name in ("tokens_in", "tokens_out"))
        found = {"requests": len(every), "counted": len(counted), "tokens_in": sent, "tokens_out": received}
        if thought := round(sum(one.get("tokens_reasoning", 0) for one in counted)):
            found["tokens_reasoning"] = thought
        if all("cost" in one for one in every):
            return {**found, "cost": sum(one["cost"] for one in every), "cost_by": "endpoint"}
        if not self._priced or not counted:
            return found
        return {
            **found,
            "cost": self.price(sent, received),
            "cost_by": "prices",
            "currency": self.model.currency,
        }

    def expect(self, calls: Sequence[Call], probed: Sequence[tuple[Call, Mapping[str, Any]]]) -> str:
        """Estimate the tokens and the cost of requests from the answers to some of them.

        Args:
            calls: All requests.
            probed: Some of them with their answers.

        Returns:
            The estimate as text; empty if the endpoint does not say what the answers took.
        """
        known = [(call, took) for call, answer in probed if len(took := usage(answer)) >= 2]
        read = sum(_bytes(call) for call, _ in known)
        if not read:
            return ""
        ratio = sum(took.get("tokens_in", 0) for _, took in known) / read
        sent = round(ratio * sum(_bytes(call) for call in calls))
        received = round(len(calls) * sum(took.get("tokens_out", 0) for _, took in known) / len(known))
        tokens = self.says(sent, received)
        costs = [took["cost"] for _, took in known if "cost" in took]
        if len(costs) < len(known):
            return tokens
        cost = len(calls) * sum(costs) / len(costs)
        return f"{sent:,} tokens in, {received:,} out, cost {cost:.4g} as the endpoint counts"

    @property
    def _priced(self) -> bool:
        return bool(self.model.input_price + self.model.output_price)

    def estimate(self, calls: Sequence[Call]) -> tuple[int, int]:
        """Estimate the tokens of requests.

        Returns:
            The tokens that go in, by the length of the text, and the most that can come out.
        """
        sent = sum(_bytes(call) / self.bytes_per_token for call in calls)
        return round(sent), sum(_most(call.body) for call in calls)

    def price(self, sent: float, received: float) -> float:
        """Price of a number of tokens in and out."""
        part = PRICE if self.model.batch is not None else 1.0
        return part * (sent * self.model.input_price + received * self.model.output_price) / 1e6

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
        sent, received = _said(answer, "tokens_in"), _said(answer, "tokens_out")
        likely, most = self.estimate([call])
        self.hidden = max(self.hidden, sent - _bytes(call))
        self.sent += sent or likely
        # A server that counts the prompt may leave out the field if nothing came back.
        self.received += received or (0 if sent else most)

    def says(self, sent: int, received: int, most: bool = False) -> str:
        """Format tokens and, if there are prices, their cost as text."""
        tokens = f"{sent:,} tokens in, {'at most ' if most else ''}{received:,} out"
        if not self._priced:
            return tokens
        low = f"{self.price(sent, 0):.4g} to " if most else ""
        return f"{tokens}, cost {low}{self.price(sent, received):.4g} {self.model.currency}"


def _said(answer: Mapping[str, Any], name: str) -> int:
    return round(usage(answer).get(name, 0))


def _bytes(call: Call) -> int:
    words = (
        call.body["prompt"]
        if "prompt" in call.body
        else "".join(message["content"] for message in call.body["messages"])
    )
    return len(words.encode())


def _most(body: Mapping[str, Any]) -> int:
    return int(body.get("max_completion_tokens") or body.get("max_tokens") or 0)
