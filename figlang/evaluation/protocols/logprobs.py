"""The protocol `logprobs`: the likeliest letter as the first token of the reply."""

import logging
from collections.abc import Sequence

from figlang.evaluation.protocols.first_token import TOP, Probabilities, probabilities
from figlang.evaluation.protocols.letter import Letter
from figlang.evaluation.protocols.lettered import LetteredProtocol, Result
from figlang.evaluation.protocols.speaking import Speaker
from figlang.tasks.lettered import Lettered

log = logging.getLogger("figlang")


class LetterProbabilities(LetteredProtocol):
    """The letter with the largest probability. A reply with none of the letters is not a choice."""

    def ask(self, questions: Sequence[Lettered], speaker: Speaker) -> Result:
        chats = [speaker.opened(*Letter().turns(one, speaker)) for one in questions]
        by_letters: dict[str, list[int]] = {}
        for place, one in enumerate(questions):
            by_letters.setdefault(one.letters, []).append(place)
        found: dict[int, Probabilities] = {}
        for letters, places in by_letters.items():
            owners = [questions[place].item.id for place in places]
            shown = probabilities(speaker, [chats[place] for place in places], owners, letters)
            found.update(zip(places, shown, strict=True))
        if without := sum(not shown.known for shown in found.values()):
            log.warning(
                "%d of %d replies have no letter among their %d likeliest first tokens and count as wrong",
                *(without, len(questions), TOP),
            )
        every = [(one, found[place]) for place, one in enumerate(questions)]
        return Result(
            [one.scored(_scores(shown)) for one, shown in every],
            measured=[{"id": one.item.id, "letters": shown.by_form} for one, shown in every],
        )


def _scores(shown: Probabilities) -> list[float]:
    """The log-probabilities of the letters. If none is known, all scores are equal: there is no choice."""
    return shown.log_probs() if shown.known else [0.0] * len(shown.by_form)
