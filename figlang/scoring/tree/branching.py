"""Strings of a causal model as padded batches for training.

The strings of an item are one row, in which their common beginnings are read once.

Shape letters: N rows, T tokens, P nodes of a row, R states that predict, S scored tokens, G strings, B
choices, C options.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from figlang.config.groups.scoring import NORMS
from figlang.scoring.flat import Tokens
from figlang.scoring.likelihood import partners_of
from figlang.scoring.requests import Request, RequestEncoder, naming
from figlang.scoring.targets import table
from figlang.scoring.tree.anatomy import Anatomy
from figlang.scoring.tree.trie import Pack, grow
from figlang.scoring.wording import Wording
from figlang.types import Item

# Added to the score of a key that is not seen. Any number as low hides it; this one is the same in every
# precision that attention may be in.
HIDES = -(2.0**15)


@dataclass
class StringBatch:
    """Strings of several examples, their scored tokens and the choices between them.

    Attributes:
        inputs: Arguments of the network.
        states: Places in (N x T) that predict a scored token, (R,).
        predictors: The state that predicts each scored token, (S,).
        tokens: The scored tokens, (S,).
        strings: The string of each scored token, (S,).
        weights: Factors that turn the sum of a string into its score, (G,).
        option_strings: Strings of the options, (B, C); -1 where a choice has fewer options.
        alone_strings: Strings whose scores are subtracted, (B, C); None if none are.
        gold: Place of the gold option, (B,); -1 if it is hidden.
        positions: Numbers of the items.
        reference: Another network's log-probability per token of each gold string, (B,); None without.
        teacher: What the options should get, as probabilities (B, C): see `targets.table`.
    """

    inputs: dict[str, Tensor]
    states: Tensor
    predictors: Tensor
    tokens: Tensor
    strings: Tensor
    weights: Tensor
    option_strings: Tensor
    alone_strings: Tensor | None
    gold: Tensor
    positions: list[int]
    reference: Tensor | None = None
    teacher: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """Nodes that are read together: tokens and depths (P,), and what each one sees, (P, P) of bool."""

    tokens: Tensor
    depths: Tensor
    visible: Tensor


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice between strings, by their numbers within the example.

    `teacher` has a probability for each option, or is empty.
    """

    gold: int
    options: tuple[int, ...]
    alone: tuple[int, ...]
    teacher: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class EncodedStrings:
    """The strings of an item or a pair.

    `scored` (S, 4) holds row, predicting node, token and string of every scored token. `reference` has a
    number for each choice, or none: see StringBatch.
    """

    positions: tuple[int, ...]
    sequences: tuple[Row, ...]
    scored: Tensor
    weights: tuple[float, ...]
    choices: tuple[Choice, ...]
    reference: tuple[float, ...] = ()

    @property
    def longest(self) -> int:
        return max(len(row.tokens) for row in self.sequences)

    @property
    def tokens(self) -> int:
        """Number of tokens without padding. A shared beginning counts once."""
        return sum(len(row.tokens) for row in self.sequences)


@dataclass
class StringEncoder:
    """Words and tokenises items for a causal network.

    With `sharing`, all strings of an example are one row, whose tokens see only their own path. If the
    network's attention cannot take such a mask, every string is a row of its own.
    """

    requests: RequestEncoder
    wording: Wording
    sharing: bool

    def encode(self, items: Sequence[Item]) -> list[EncodedStrings]:
        """Make one example for each item: the choice of the answer for its metaphor.

        Raises:
            FiglangError: If a text cannot be scored. It names the text.
        """
        return self._encode([[(position, item)] for position, item in enumerate(items)], {})

    def encode_pairs(self, items: Sequence[Item]) -> list[EncodedStrings]:
        """Make one example for each pair: the choices of `encode`, and those of the metaphor for the answer.

        An item without a partner is an example of its own.
        """
        partners = partners_of(items)
        groups: dict[str, list[tuple[int, Item]]] = {}
        for position, item in enumerate(items):
            groups.setdefault(item.group if item.id in partners else f"alone {position}", []).append(
                (position, item)
            )
        return self._encode(list(groups.values()), partners)

    def encode_lines(self, lines: Sequence[str]) -> list[EncodedStrings]:
        """Make one example for each text. All its tokens are scored, and there is no choice."""
        tokens, _ = self.requests.encode(Request("", line) for line in lines)
        return [self._example((position,), [line], (1.0,), ()) for position, line in enumerate(tokens)]

    def _encode(
        self, groups: list[list[tuple[int, Item]]], partners: dict[str, tuple[Item, ...]]
    ) -> list[EncodedStrings]:
        asked: list[Request] = []
        owners: list[str] = []
        plans = []
        for group in groups:
            requests: dict[Request, int] = {}
            choices = [self._forward(item, requests) for _, item in group]
            choices += [
                self._backward(item, partners[item.id], requests) for _, item in group if item.id in partners
            ]
            plans.append((tuple(position for position, _ in group), tuple(requests), tuple(choices)))
            asked += requests
            owners += [" or ".join(item.id for _, item in group)] * len(requests)
        with naming(owners):
            tokens, _ = self.requests.encode(asked)
        remaining = iter(tokens)
        examples = []
        for positions, requests_of, choices_of in plans:
            own = [next(remaining) for _ in requests_of]
            sizes = zip(requests_of, own, strict=True)
            weights = tuple(
                1 / self._size(request, len(string.ids) - string.start) for request, string in sizes
            )
            examples.append(self._example(positions, own, weights, choices_of))
        return examples

    def _size(self, request: Request, tokens: int) -> int:
        return NORMS[self.wording.scoring.norm](tokens, len(request.continuation.encode()))

    def _forward(self, item: Item, requests: dict[Request, int]) -> Choice:
        wording, scoring = self.wording.of(item), self.wording.scoring
        options = [wording.scored(scoring.span, "", item.context, option) for option in item.options]
        alone = [wording.alone("", option) for option in item.options] if scoring.minus_alone else []
        return _choice(item.gold, options, alone, requests)

    def _backward(self, item: Item, pair: tuple[Item, ...], requests: dict[Request, int]) -> Choice:
        assert item.gold is not None, "training items have labels"
        answer, span = item.options[item.gold], self.wording.scoring.backward_span
        options = [self.wording.scored(span, "", member.context, answer) for member in pair]
        return _choice([member.id for member in pair].index(item.id), options, [], requests)

    def _example(
        self,
        positions: tuple[int, ...],
        tokens: list[Tokens],
        weights: tuple[float, ...],
        choices: tuple[Choice, ...],
    ) -> EncodedStrings:
        rows, scored = [], []
        for number, members in enumerate(
            [range(len(tokens))] if self.sharing else [[member] for member in range(len(tokens))]
        ):
            trie = grow([tokens[member] for member in members])
            nowhere = torch.empty(0, dtype=torch.long)
            rows.append(
                Row(trie.tokens[trie.read], trie.depths[trie.read], trie.visible(Pack(nowhere, trie.read)))
            )
            for member, span in zip(members, trie.spans, strict=True):
                predictor = torch.searchsorted(trie.read, trie.parents[span])
                same = torch.ones_like(span)
                scored.append(torch.stack([number * same, predictor, trie.tokens[span], member * same], 1))
        return EncodedStrings(positions, tuple(rows), torch.cat(scored), weights, choices)

    def collate(self, batch: Sequence[EncodedStrings]) -> StringBatch:
        """Pad to the longest row of the batch."""
        rows = [row for example in batch for row in example.sequences]
        width = max(len(row.tokens) for row in rows)
        ids, depths = torch.zeros(2, len(rows), width, dtype=torch.long)
        # Padding sees itself, because a softmax over nothing is not a number.
        visible = torch.eye(width, dtype=torch.bool).repeat(len(rows), 1, 1)
        for number, row in enumerate(rows):
            size = len(row.tokens)
            ids[number, :size], depths[number, :size], visible[number, :size, :size] = (
                row.tokens,
                row.depths,
                row.visible,
            )
        if self.sharing:
            mask = torch.zeros(visible.shape).masked_fill_(~visible, HIDES)[:, None]
            inputs = {"input_ids": ids, "attention_mask": mask, "position_ids": depths}
        else:
            lengths = torch.tensor([len(row.tokens) for row in rows])
            inputs = {"input_ids": ids, "attention_mask": (torch.arange(width) < lengths[:, None]).long()}
        scored, choices = [], []
        weights: list[float] = []
        first_row = 0
        for example in batch:
            shift = torch.tensor([first_row, 0, 0, len(weights)])
            scored.append(example.scored + shift)
            choices += [(choice, len(weights)) for choice in example.choices]
            weights += example.weights
            first_row += len(example.sequences)
        row_S, place_S, token_S, string_S = torch.cat(scored).unbind(1)
        states, predictors = torch.unique(row_S * width + place_S, return_inverse=True)
        subtracts = any(choice.alone for choice, _ in choices)
        reference = [number for example in batch for number in example.reference]
        options = _table([[shift + string for string in choice.options] for choice, shift in choices])
        return StringBatch(
            inputs=inputs,
            states=states,
            predictors=predictors,
            tokens=token_S,
            strings=string_S,
            weights=torch.tensor(weights),
            option_strings=options,
            alone_strings=_table([[shift + string for string in choice.alone] for choice, shift in choices])
            if subtracts
            else None,
            gold=torch.tensor([choice.gold for choice, _ in choices]),
            positions=[position for example in batch for position in example.positions],
            reference=torch.tensor(reference) if reference else None,
            teacher=table([choice.teacher for choice, _ in choices], options.shape[1]),
        )


class StringScorer:
    """Scores of a batch by a network. Unlike CausalScorer, it gives gradients.

    Args:
        anatomy: What was found out about the network, or about one of which it is a copy.
    """

    def __init__(self, anatomy: Anatomy) -> None:
        self._anatomy = anatomy

    def logits(self, network: nn.Module, batch: StringBatch) -> Tensor:
        """The network's logits at every state that predicts a scored token, (R, V) in float32."""
        anatomy = self._anatomy.of(network)
        read = anatomy.network if anatomy.not_split else anatomy.body
        outputs_NTH = read(**_of_its_kind(batch.inputs, read.dtype), use_cache=False)[0]
        states_RH = outputs_NTH.flatten(0, 1)[batch.states]
        return (states_RH if anatomy.not_split else anatomy.head(states_RH)).float()

    def log_probs(self, network: nn.Module, batch: StringBatch) -> Tensor:
        """The log-probability of every scored token, (S,) in float32."""
        logits_RV = self.logits(network, batch)
        return logits_RV[batch.predictors, batch.tokens] - logits_RV.logsumexp(-1)[batch.predictors]

    def scores(self, log_probs_S: Tensor, batch: StringBatch) -> Tensor:
        """Scores of the options, (B, C); -inf where a choice has fewer options."""
        scores_G = torch.zeros_like(batch.weights).index_add(0, batch.strings, log_probs_S) * batch.weights
        scores_BC = scores_G[batch.option_strings.clamp(min=0)]
        if batch.alone_strings is not None:
            subtracted_BC = scores_G[batch.alone_strings.clamp(min=0)]
            scores_BC = scores_BC - subtracted_BC.masked_fill(batch.alone_strings < 0, 0)
        return scores_BC.masked_fill(batch.option_strings < 0, -torch.inf)

    def means(self, log_probs_S: Tensor, batch: StringBatch) -> Tensor:
        """Log-probability a token of the options' strings, (B, C); -inf where a choice has fewer options."""
        sums_G = torch.zeros_like(batch.weights).index_add(0, batch.strings, log_probs_S)
        tokens_G = batch.strings.bincount(minlength=len(batch.weights))
        means_BC = (sums_G / tokens_G)[batch.option_strings.clamp(min=0)]
        return means_BC.masked_fill(batch.option_strings < 0, -torch.inf)

    def __call__(self, network: nn.Module, batch: StringBatch) -> Tensor:
        """Scores of the options, (B, C); -inf where a choice has fewer options."""
        return self.scores(self.log_probs(network, batch), batch)


class PromptedScorer(StringScorer):
    """As StringScorer, for a network with a learnt prompt before every row. Rows share no beginnings.

    Args:
        anatomy: As there.
        virtual: Number of tokens of the prompt.
    """

    def __init__(self, anatomy: Anatomy, virtual: int) -> None:
        super().__init__(anatomy)
        self._virtual = virtual

    def logits(self, network: nn.Module, batch: StringBatch) -> Tensor:
        logits_NTV = network(**batch.inputs, use_cache=False).logits[:, self._virtual :]
        return logits_NTV.flatten(0, 1)[batch.states].float()  # type: ignore[no-any-return]


def _of_its_kind(inputs: dict[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
    """Inputs with an additive mask in the network's own precision.

    cuDNN's attention takes the bytes of a float32 mask for bf16 numbers if its queries are in bf16
    (pytorch/pytorch#191612). Then scores are wrong, or not numbers.
    """
    mask = inputs["attention_mask"]
    return inputs | {"attention_mask": mask.to(dtype)} if mask.is_floating_point() else inputs


def _choice(
    gold: int | None, options: list[Request], alone: list[Request], requests: dict[Request, int]
) -> Choice:
    numbers = [
        [requests.setdefault(request, len(requests)) for request in asked] for asked in (options, alone)
    ]
    return Choice(-1 if gold is None else gold, tuple(numbers[0]), tuple(numbers[1]))


def _table(rows: list[list[int]]) -> Tensor:
    if not rows:
        return torch.empty(0, 0, dtype=torch.long)
    width = max(map(len, rows))
    return torch.tensor([row + [-1] * (width - len(row)) for row in rows])
