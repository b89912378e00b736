"""The strings of a causal model: what a scoring preset and a prompt make of a metaphor and an answer."""

from collections.abc import Sequence

from figlang.config import PromptConfig, ScoringConfig
from figlang.errors import FiglangError
from figlang.scoring.encode import word
from figlang.scoring.requests import Request
from figlang.tasks.blind import without
from figlang.text.tidying import full_stop, is_ended, titled
from figlang.types import Item


def check_alone(scoring: ScoringConfig, bos: str, examples: int) -> None:
    """Check that the first token of an answer alone can be scored, if a preset subtracts the answer alone.

    Raises:
        FiglangError: Neither a bos nor an example stands before the answer.
    """
    if scoring.minus_alone and scoring.causal and bos == "none" and not examples:
        raise FiglangError(
            f"scoring={scoring.name} subtracts the score of the answer alone, and its first token has no "
            "probability if no token stands before it; set scoring.bos=add or scoring.bos=<token id>"
        )


class Wording:
    """The requests that a preset and a prompt make of a metaphor and an answer.

    The argument `shown` of its methods is the text before the two: answered examples, or nothing. If a
    template has no {metaphor}, the answer is scored after the words of the template.

    Args:
        scoring: The preset.
        prompt: The prompt.
        cut: Whether metaphor and answer are parts of one sentence (see Item). Their wording is not changed.

    Raises:
        FiglangError: Items are parts of one sentence, and the preset or prompt would make two sentences of
            them; or all scores of the template would be 0.
    """

    def __init__(self, scoring: ScoringConfig, prompt: PromptConfig, cut: bool = False) -> None:
        self.scoring = scoring
        self.cut = cut
        self._prompt = prompt
        self._style = "raw" if cut else scoring.text
        self.template = scoring.template if prompt.template is None else prompt.template
        if cut and (self.template != ScoringConfig.template or prompt.suffix):
            given = (
                f"prompt={prompt.name}"
                if prompt.suffix or prompt.template is not None
                else f"scoring={scoring.name}"
            )
            raise FiglangError(
                f"{given} puts text around two sentences, but these items are one sentence, cut at a blank; "
                f"use scoring=clean or another preset with the template {ScoringConfig.template!r}, and no "
                "prompt.suffix"
            )
        before, self._after = self.template.split("{answer}")
        # Whether the metaphor is part of the strings.
        self.has_context = "{metaphor}" in before
        if not self.has_context and not before.strip() and not prompt.suffix and scoring.minus_alone:
            raise FiglangError(
                f"the template {self.template!r} holds the answer alone, and scoring={scoring.name} "
                "subtracts the score of the answer alone, so every score would be 0; "
                "use scoring=answer, or a template with {metaphor}"
            )
        self._opening, _, between = before.partition("{metaphor}")
        self._between = between + prompt.suffix
        self._blind = without(before + prompt.suffix, "{metaphor}").lstrip()
        self._lower = bool(prompt.suffix) and prompt.answer == "lower"

    def of(self, item: Item) -> "Wording":
        """The wording for one item of a mixture, in which some items are cut and others are not."""
        return self if item.cut == self.cut else Wording(self.scoring, self._prompt, item.cut)

    def uneven(self, items: Sequence[Item]) -> int:
        """How many items have an option that ends with a mark and one that does not, if texts are not tidied.

        Items that are cut at a blank are not counted, since their options are parts of a sentence.
        """
        if self._style != "raw":
            return 0
        ends = ({is_ended(option.rstrip()) for option in item.options} for item in items if not item.cut)
        return sum(len(kinds) > 1 for kinds in ends)

    def whole(self, shown: str, metaphor: str, answer: str) -> Request:
        """Score metaphor and answer. The examples are scored too if `scoring.examples` is set."""
        context, continuation = self.span("", metaphor, answer)
        string = context + continuation
        return Request("", shown + string) if self.scoring.examples else Request(shown, string)

    def span(self, shown: str, metaphor: str, answer: str) -> Request:
        """Score the answer, after the examples and the metaphor."""
        if not self.has_context:
            return Request(shown + self._opening + self._between, self._answer(answer) + self._after)
        # The metaphor is empty if the blank is at the start of a sentence.
        between = self._between if metaphor else ""
        return Request(
            shown + self._opening + self._word(metaphor) + between, self._answer(answer) + self._after
        )

    def blind(self, span: str, shown: str, answer: str) -> Request:
        """Score the answer with the metaphor hidden.

        Args:
            span: The part that is scored: `whole` or `answer`.
            shown: The text before it.
            answer: The answer. It stands alone, or after the words of the template if it has some.
        """
        if not self._blind:
            return self.alone(shown, answer)
        continuation = self._answer(answer) + self._after
        if span == "answer":
            return Request(shown + self._blind, continuation)
        string = self._blind + continuation
        return Request("", shown + string) if self.scoring.examples else Request(shown, string)

    def alone(self, shown: str, text: str) -> Request:
        """Score only an answer or only a metaphor, after the examples."""
        return Request(shown, self._word(text) + self._after)

    def example(self, item: Item) -> str:
        """An item with its gold answer, worded as the strings that are scored."""
        return "".join(self.span("", item.context, item.options[item.gold or 0]))

    def scored(self, span: str, shown: str, metaphor: str, answer: str) -> Request:
        """The request for a span, which is `whole` or `answer`."""
        return self.whole(shown, metaphor, answer) if span == "whole" else self.span(shown, metaphor, answer)

    def _word(self, text: str) -> str:
        if self._style == "gpt3":
            return _as_published(text)
        return word(text, self._style)

    def _answer(self, text: str) -> str:
        worded = self._word(text)
        return worded[:1].lower() + worded[1:] if self._lower else worded


def _as_published(text: str) -> str:
    # The authors looked for a period only, so they put one after "!" and "?". A final mark of another script
    # gets none.
    ended = not text or text.endswith(".") or (not text[-1].isascii() and is_ended(text))
    return titled(text) + ("" if ended else full_stop(text))
