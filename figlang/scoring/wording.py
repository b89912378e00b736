"""The strings of a causal model: what a scoring preset and a prompt make of a metaphor and an answer."""

from figlang.config import PromptConfig, ScoringConfig
from figlang.errors import FiglangError
from figlang.scoring.encode import word
from figlang.scoring.requests import Request
from figlang.tasks.blind import without
from figlang.text.tidying import full_stop, is_ended, titled
from figlang.types import Item


def check_alone(scoring: ScoringConfig, bos: str, examples: int) -> None:
    """Raises FiglangError where an answer alone would lack its first token, so that subtracting it would not
    be what it says."""
    if scoring.minus_alone and scoring.kind == "likelihood" and bos == "none" and not examples:
        raise FiglangError(
            f"scoring={scoring.name} subtracts the answer alone, whose first token has a probability only "
            "after another token; "
            "set scoring.bos=add or scoring.bos=<token id>"
        )


class Wording:
    """The requests that a preset and a prompt make of a metaphor and an answer. `shown` is the text before
    them.

    `cut` says that the two are parts of one sentence (see Item), which stay as they are. A template without a
    metaphor scores the answer behind the template's own words.

    Raises FiglangError for parts of one sentence in a preset or prompt that would make two of them, and for a
    template whose scores would all be 0.
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
                f"{given} puts text between or behind two sentences, and these items are sentences cut at a "
                "blank; use "
                f"scoring=clean or another preset with the template {ScoringConfig.template!r}, and no "
                "prompt.suffix"
            )
        before, self._after = self.template.split("{answer}")
        # Whether the metaphor is part of the strings.
        self.has_context = "{metaphor}" in before
        if not self.has_context and not before.strip() and not prompt.suffix and scoring.minus_alone:
            raise FiglangError(
                f"the template {self.template!r} holds the answer alone, which scoring={scoring.name} "
                "subtracts, so every score "
                "would be 0; use scoring=answer, or a template with {metaphor}"
            )
        self._opening, _, between = before.partition("{metaphor}")
        self._between = between + prompt.suffix
        self._blind = without(before + prompt.suffix, "{metaphor}").lstrip()
        self._lower = bool(prompt.suffix) and prompt.answer == "lower"

    def of(self, item: Item) -> "Wording":
        """This wording for an item that may be cut, or not, unlike the others of a mixture."""
        return self if item.cut == self.cut else Wording(self.scoring, self._prompt, item.cut)

    def whole(self, shown: str, metaphor: str, answer: str) -> Request:
        """The whole string; the examples before it are scored with it only if the preset says so."""
        context, continuation = self.span("", metaphor, answer)
        string = context + continuation
        return Request("", shown + string) if self.scoring.examples else Request(shown, string)

    def span(self, shown: str, metaphor: str, answer: str) -> Request:
        """The answer as continuation of all that stands before it."""
        if not self.has_context:
            return Request(shown + self._opening + self._between, self._answer(answer) + self._after)
        # Nothing stands before a blank at the start of a sentence.
        between = self._between if metaphor else ""
        return Request(
            shown + self._opening + self._word(metaphor) + between, self._answer(answer) + self._after
        )

    def blind(self, span: str, shown: str, answer: str) -> Request:
        """What `span` scores with the metaphor hidden: the answer alone, or behind the words that a template
        has of its own."""
        if not self._blind:
            return self.alone(shown, answer)
        continuation = self._answer(answer) + self._after
        if span == "answer":
            return Request(shown + self._blind, continuation)
        string = self._blind + continuation
        return Request("", shown + string) if self.scoring.examples else Request(shown, string)

    def alone(self, shown: str, text: str) -> Request:
        """An answer or a metaphor without the other, after the same examples."""
        return Request(shown, self._word(text) + self._after)

    def example(self, item: Item) -> str:
        """An item with its gold answer, worded as the strings that are scored."""
        return "".join(self.span("", item.context, item.options[item.gold or 0]))

    def scored(self, span: str, shown: str, metaphor: str, answer: str) -> Request:
        """What `span`, whole or answer, scores."""
        return self.whole(shown, metaphor, answer) if span == "whole" else self.span(shown, metaphor, answer)

    def _word(self, text: str) -> str:
        if self._style == "gpt3":
            return _as_published(text)
        return word(text, self._style)

    def _answer(self, text: str) -> str:
        worded = self._word(text)
        return worded[:1].lower() + worded[1:] if self._lower else worded


def _as_published(text: str) -> str:
    # The authors looked for a period only, so that "!" and "?" are followed by one. A mark of another script
    # is an end.
    ended = not text or text.endswith(".") or (not text[-1].isascii() and is_ended(text))
    return titled(text) + ("" if ended else full_stop(text))
