"""The probabilities of short answers as the first token of a reply."""

from collections.abc import Sequence
from dataclasses import dataclass

from figlang.errors import FiglangError
from figlang.evaluation import generation
from figlang.evaluation.protocols.speaking import Speaker
from figlang.models.checkpoint import Loaded
from figlang.models.hosted.opened import Hosted
from figlang.scoring import letters
from figlang.scoring.tree.causal import CausalScorer
from figlang.types import Chat, Item, Prompted

TOP = 20  # likeliest tokens that endpoints show at most


@dataclass(frozen=True)
class Probabilities:
    """The log-probabilities of every form of every answer, and the highest that an answer without forms can
    have (None if every answer has its forms)."""

    by_form: list[dict[str, float]]
    most: float | None = None

    @property
    def known(self) -> bool:
        """Whether any answer has a probability."""
        return any(self.by_form)

    def log_probs(self) -> list[float]:
        """The log-probability of each answer, or the highest that it can have."""
        return [letters.total(forms.values()) if forms else self.most or 0.0 for forms in self.by_form]


def probabilities(
    speaker: Speaker, chats: Sequence[Chat], owners: Sequence[str], answers: Sequence[str]
) -> list[Probabilities]:
    """The probabilities of answers as the first token of the reply to each conversation.

    A network here gives them for every form of an answer (figlang/scoring/letters.py). An endpoint shows its
    likeliest first tokens: an answer that is not among them has at most the lowest of their probabilities.

    Args:
        speaker: The model.
        chats: The conversations. Equal ones are read once.
        owners: For each the id of its item, for errors.
        answers: The answers, for example A and B.

    Raises:
        FiglangError: The model cannot be asked, or shows no probabilities.
    """
    distinct = list(dict.fromkeys(chats))
    if isinstance(speaker.model, Hosted):
        raise FiglangError(
            "probabilities of a first token are read from a network here or from an endpoint, not from "
            "model.engine; use another protocol, or model.engine=transformers"
        )
    if isinstance(speaker.model, Loaded):
        named = dict(zip(chats, owners, strict=True))
        prompts = generation.worded(speaker.model, distinct, speaker.settings)
        asked = [
            Prompted(Item(named[chat], "", "", tuple(answers), None), prompt, tuple(answers))
            for chat, prompt in zip(distinct, prompts, strict=True)
        ]
        bos = generation.beginning(speaker.model, speaker.settings)
        scorer = CausalScorer(speaker.model.network, speaker.model.tokenizer, bos, "error")
        measured = letters.measure(scorer, asked, speaker.progress).by_form if asked else []
        shown = [Probabilities(forms) for forms in measured]
    else:
        tokens = speaker.model.endpoint.first_tokens(distinct, TOP, speaker.settings, speaker.progress)
        shown = [
            Probabilities(
                [{token: value for token, value in top if token.strip() == answer} for answer in answers],
                min((value for _, value in top), default=None),
            )
            for top in tokens
        ]
    found = dict(zip(distinct, shown, strict=True))
    return [found[chat] for chat in chats]
