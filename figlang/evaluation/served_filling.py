"""Rank answers at blanks with a model behind an endpoint.

The ranking is the likeliest tokens that the endpoint shows (as Tong et al. 2024 asked GPT-3.5), or the one
word that a chat replies with.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from figlang.config import SamplingConfig
from figlang.config.verbs.reproduce import RankingConfig
from figlang.errors import FiglangError
from figlang.evaluation.filling import Way, check_idle, ranking
from figlang.evaluation.generation import converse
from figlang.models.checkpoint import Served
from figlang.models.served.abilities import opening
from figlang.scoring.ranking.first_token import SHOWN, Ranked
from figlang.scoring.ranking.words import REPLACEMENT, Comparison, leading_word
from figlang.scoring.replies import MARKS, final
from figlang.types import Blank, Ranking

log = logging.getLogger("figlang")

ASKED = ": which word should it be? Answer with one word only."
UNKNOWN = {"tokens": None, "read": None, "ratio": None}
REASONING = 512  # tokens of a reply, in which a chat may think before its word


def way(config: RankingConfig, served: Served) -> Way:
    """The settings of a command for an endpoint. The largest rank is 5 unless `max_rank` is set, or 1 for a
    chat. Raises FiglangError for settings that no endpoint supports.
    """
    if config.rank == "word":
        raise FiglangError(
            f"rank=word needs a local network, but {served.manifest.name} is served; use rank=first_token"
        )
    check_idle(config, "first_token")
    if served.endpoint.abilities.ranks:
        return Way(replace(config, max_rank=config.max_rank or SHOWN), config.form or "quote", "first_token")
    if config.form is not None or config.rank is not None or (config.max_rank or 1) > 1:
        raise FiglangError(
            "ranks need the likeliest tokens of a completions endpoint, and "
            f"{served.endpoint.abilities.refusals['ranks']}; leave "
            "form=, rank= and max_rank= out, and its chat is asked for one word"
        )
    return Way(replace(config, max_rank=1), "quote", "reply")


class ServedFiller:
    """Ranks the answers at blanks with a served model."""

    def __init__(self, served: Served, way: Way) -> None:
        self._served, self._config, self._replies = served, way.config, way.rank == "reply"
        self._comparison = Comparison(fold=way.config.compare == "casefold", space=way.config.leading_space)

    def fill(self, blanks: Sequence[Blank], progress: bool = False) -> list[Ranking]:
        """Rankings in the order of the blanks."""
        ranks = self._reply(blanks, progress) if self._replies else self._continue(blanks, progress)
        return [ranking(blank, ranked) for blank, ranked in zip(blanks, ranks, strict=True)]

    def took(self) -> dict[str, Any]:
        """None: the tokens that an endpoint reads are not known."""
        return UNKNOWN

    def _continue(self, blanks: Sequence[Blank], progress: bool) -> list[Ranked]:
        endpoint, most = self._served.endpoint, self._config.max_rank or SHOWN
        prompts = [opening(self._served.bos()) + blank.before for blank in blanks]
        suffixes = [blank.after for blank in blanks]
        self._check_inserts(prompts, suffixes)
        tops = endpoint.likeliest(prompts, most, progress, suffixes)
        keys = [[self._comparison.key(answer) for answer in blank.item.options] for blank in blanks]
        wanted = [
            (number, token)
            for number, top in enumerate(tops)
            for place, (token, _) in enumerate(top)
            if place == 0 or self._begins(token, keys[number])
        ]
        # All are sent at the same time. The first token is sent as a part of the prompt, which an
        # endpoint may cut otherwise in its reply.
        room = SamplingConfig(max_tokens=max(1, self._config.max_tokens - 1))
        begun = [prompts[number] + token for number, token in wanted]
        texts = endpoint.complete(begun, room, progress, [suffixes[number] for number, _ in wanted])
        words = {
            (number, token): leading_word(token + text)[0]
            for (number, token), (text,) in zip(wanted, texts, strict=True)
        }
        return [self._ranked(number, top, keys[number], words) for number, top in enumerate(tops)]

    def _check_inserts(self, prompts: Sequence[str], suffixes: Sequence[str]) -> None:
        """Check that the text after a blank has an effect.

        Some servers accept the field and ignore it. Raises FiglangError then.
        """
        first = next((number for number, suffix in enumerate(suffixes) if suffix), None)
        if first is None:
            return
        endpoint, most = self._served.endpoint, self._config.max_rank or SHOWN
        with_it, without = (
            endpoint.likeliest([prompts[first]], most, suffixes=each) for each in ([suffixes[first]], [""])
        )
        if with_it and with_it == without:
            raise FiglangError(
                f"{endpoint.client.model.base_url} ignores the text after a blank (the field `suffix`); use "
                "form=quote, or a server and a model that insert"
            )

    def _begins(self, token: str, keys: Sequence[str]) -> bool:
        written = None if REPLACEMENT in token else self._comparison.written(token)
        return bool(written) and any(key.startswith(str(written)) for key in keys)

    def _ranked(
        self,
        number: int,
        top: Sequence[tuple[str, float]],
        keys: Sequence[str],
        words: dict[tuple[int, str], str],
    ) -> Ranked:
        if not top:  # a content filter refused the prompt
            return Ranked((None,) * len(keys), "", ())
        best: dict[str, int] = {}
        for token, value in top:
            if (number, token) in words and self._begins(token, keys):
                rank = sum(other >= value for _, other in top)  # a tie does not help
                best.setdefault(self._comparison.key(words[number, token]), rank)
        return Ranked(
            tuple(best.get(key) for key in keys),
            words[number, top[0][0]],
            tuple(token for token, _ in top[:SHOWN]),
        )

    def _reply(self, blanks: Sequence[Blank], progress: bool) -> list[Ranked]:
        messages = [blank.before.removesuffix(blank.cue) + ASKED for blank in blanks]
        replies = converse(self._served, messages, SamplingConfig(max_tokens=REASONING), progress)
        words = [one_word(several[0].text) for several in replies]
        if invalid := words.count(""):
            log.warning(
                "%d of %d replies are not a single word, so that no answer has a rank", invalid, len(words)
            )
        return [
            Ranked(
                tuple(
                    1 if word and self._comparison.key(answer) == self._comparison.key(word) else None
                    for answer in blank.item.options
                ),
                word,
                (word,) if word else (),
            )
            for blank, word in zip(blanks, words, strict=True)
        ]


def one_word(reply: str) -> str:
    """The single word of a reply, without reasoning, punctuation marks and full stop. Empty if the reply is
    not one word."""
    text = MARKS.sub("", final(reply)).strip().rstrip(".").strip()
    word, _ = leading_word(text)
    return word if word == text else ""
