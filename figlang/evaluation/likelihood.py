"""Models that give log-probabilities: of texts of context and option, or of the answers to a question."""

import logging
from typing import Any

from figlang.config import PromptConfig, ScoringConfig
from figlang.errors import FiglangError
from figlang.evaluation import letters
from figlang.evaluation.how import Answering, How, Rows, Share, origin
from figlang.models.checkpoint import Served
from figlang.models.formats import MASKED, of_scoring
from figlang.models.hosted.opened import Hosted, Opened
from figlang.models.hosted.scorer import HostedScorer
from figlang.models.served.scorer import ServedScorer
from figlang.scoring import choices, likelihood
from figlang.scoring.masked import MaskedScorer
from figlang.scoring.tree.causal import CausalScorer
from figlang.scoring.wording import Wording, check_alone
from figlang.tasks import examples

log = logging.getLogger("figlang")

# For questions, whatever a checkpoint was trained with: no normalisation was published.
ANSWER = ScoringConfig("answer", span="answer", backward_span="answer", norm="sum")


class LogProbabilities(Answering):
    """A causal or masked network, or a model behind an endpoint that gives log-probabilities."""

    def __init__(self, loaded: Opened) -> None:
        self._loaded = loaded

    def answer(self, share: Share, how: How) -> tuple[Rows, dict[str, Any]]:
        share.questions.check(how.prompt, share.split.source)
        if share.questions.by_letter:
            return self._letters(share, how)
        return self._questions(share, how) if share.questions.continued else self._strings(share, how)

    def _strings(self, share: Share, how: How) -> tuple[Rows, dict[str, Any]]:
        loaded, items, prompt = self._loaded, share.split.items, how.prompt
        scoring = how.scoring or ScoringConfig(**loaded.manifest.scoring or {})
        bos = loaded.bos(scoring)
        check_alone(scoring, bos, prompt.k)
        cut = items[0].cut
        wording = Wording(scoring, prompt, cut)
        if uneven := wording.uneven(items):
            log.info(
                "data: %d of %d items have an option with a final mark and one without; scoring=%s leaves "
                "texts as they are, so the strings of these items end differently",
                uneven,
                len(items),
                scoring.name,
            )
        # From all items, not from the share: a draw for the whole split leaves out all its metaphors.
        shown = examples.draw(items, how.pool.examples, wording.example, prompt)
        chosen = likelihood.choose(
            engine(loaded, scoring, bos), share.items, wording, shown, how.progress, how.blind
        )
        rows = Rows(
            share.place(chosen.forward),
            None if chosen.blind is None else share.place(chosen.blind),
            share.place(chosen.backward, [prediction.id for prediction in chosen.backward]),
            share.place(chosen.measured),
        )
        backward = (
            f"backward={scoring.backward_span},minus_alone={scoring.minus_alone},examples={scoring.examples}"
        )
        return rows, {
            **origin(loaded),
            "scoring": f"{scoring.name}({_masking(scoring)}span={scoring.span},{backward})",
            "norm": scoring.norm,
            "prompt": describe(prompt, how.pool.source),
            "text": f"{'raw' if cut else scoring.text}({wording.template!r})",
            "bos": bos,
            **({} if scoring.overflow == "error" else {"overflow": scoring.overflow}),
        }

    def _questions(self, share: Share, how: How) -> tuple[Rows, dict[str, Any]]:
        loaded, prompt, questions = self._loaded, how.prompt, share.questions
        scoring = answer_scoring(how.scoring)
        bos = loaded.bos(scoring)
        asked = questions.ask(share.items, prompt, how.pool)
        unseen = questions.ask(share.items, prompt, how.pool, blind=True) if how.blind else []
        measured = choices.measure(
            engine(loaded, scoring, bos), [*asked, *unseen], scoring.minus_alone, how.progress
        )
        seen = slice(len(asked))
        # With the context hidden, the log-probability of the answer alone is not subtracted: the difference
        # could be zero.
        blind = measured.predictions(scoring.norm)[len(asked) :] if how.blind else None
        rows = Rows(
            share.place(measured.predictions(scoring.norm, scoring.minus_alone)[seen]),
            None if blind is None else share.place(blind),
            measured=share.place(measured.records(len(asked))),
        )
        return rows, {
            **origin(loaded),
            "scoring": f"{scoring.name}({_masking(scoring)}minus_alone={scoring.minus_alone})",
            "norm": scoring.norm,
            "prompt": questions.describe(prompt),
            **questions.facts(prompt),
            "bos": bos,
        }

    def _letters(self, share: Share, how: How) -> tuple[Rows, dict[str, Any]]:
        name = str(how.prompt.question)
        chooser = letters.chooser(self._loaded, share.questions, how.prompt, how.scoring)
        chosen = chooser.choose(share.items, name, how.progress, how.blind)
        rows = Rows(
            share.place(chosen.predictions),
            None if chosen.blind is None else share.place(chosen.blind),
            measured=share.place(chosen.records),
        )
        return rows, {**origin(self._loaded), **chooser.facts(name), **share.questions.facts(how.prompt)}


def answer_scoring(scoring: ScoringConfig | None) -> ScoringConfig:
    """How the answers to a question are scored.

    Args:
        scoring: What a command asks for; None for ANSWER.

    Raises:
        FiglangError: The scoring has settings that would have no effect: they are for texts of context and
            option.
    """
    if scoring is None:
        return ANSWER
    for name in ("text", "template", "span", "examples"):
        if (value := getattr(scoring, name)) != getattr(ANSWER, name):
            raise FiglangError(
                f"scoring={scoring.name} has scoring.{name}={value}, which has no effect: only the answers "
                "to questions are scored; use scoring=answer, pmi or prior_corrected, with any scoring.norm"
            )
    return scoring


def engine(loaded: Opened, scoring: ScoringConfig, bos: str) -> likelihood.Scorer:
    """Make the object that computes the log-probabilities of a model. `bos` stands before every string."""
    if isinstance(loaded, Served):
        return ServedScorer(loaded.endpoint, bos)
    if isinstance(loaded, Hosted):
        return HostedScorer(loaded.engine, bos, scoring.overflow)
    if loaded.manifest.input_format is MASKED:
        return MaskedScorer(loaded.network, loaded.tokenizer, scoring.masking)
    return CausalScorer(loaded.network, loaded.tokenizer, bos, scoring.overflow)


def describe(prompt: PromptConfig, source: str) -> str:
    """A prompt in a signature."""
    parts = []
    if prompt.suffix:
        parts.append(f"suffix={prompt.suffix!r},answer={prompt.answer}")
    if prompt.k:
        parts.append(
            f"k={prompt.k},source={source},per={prompt.per},separator={prompt.separator!r},seed={prompt.seed}"
        )
    name = "custom" if prompt.name == "none" else prompt.name
    return f"{name}({','.join(parts)})" if parts else "none"


def _masking(scoring: ScoringConfig) -> str:
    return f"masking={scoring.masking}," if of_scoring(scoring.kind) is MASKED else ""
