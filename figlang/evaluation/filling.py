"""Ranks of the answers that people gave at blanks, by a causal or a masked model, by first token or by
word."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from figlang.config.verbs.reproduce import RankingConfig
from figlang.errors import FiglangError, one_line, owned
from figlang.files.sources import sha256
from figlang.models.checkpoint import Loaded
from figlang.models.formats import MASKED
from figlang.scoring.masked import MaskedScorer
from figlang.scoring.ranking import infilling
from figlang.scoring.ranking.first_token import FirstTokenRanker, Ranked
from figlang.scoring.ranking.word_readers import LONGEST, CausalReader, MaskedReader
from figlang.scoring.ranking.word_search import Reader, WordRanker
from figlang.scoring.ranking.words import Comparison, TokenTexts
from figlang.scoring.tree.continuing import Continuation
from figlang.types import Blank, Ranking

log = logging.getLogger("figlang")


@dataclass(frozen=True)
class Way:
    """How answers are ranked: the settings of a command, with defaults that depend on the model."""

    config: RankingConfig
    form: str
    rank: str

    def facts(self) -> dict[str, Any]:
        """The settings that can change a rank, for the signature."""
        config = self.config
        how = {
            "first_token": f"compare={config.compare},leading_space={config.leading_space},"
            f"max_tokens={config.max_tokens}",
            "word": f"candidates={_named(config.candidates)}",
            "reply": f"compare={config.compare}",
        }[self.rank]
        return {
            "scoring": f"{self.rank}({how},max_rank={config.max_rank})",
            "norm": "none",
            "form": self.form,
        }


def way(config: RankingConfig, loaded: Loaded) -> Way:
    """The settings of a command for a model.

    Raises FiglangError if the model cannot fill blanks, or if a setting has no effect.
    """
    masked = loaded.manifest.input_format is MASKED
    if not masked and not loaded.manifest.input_format.causal:
        raise FiglangError(
            f"{loaded.manifest.name} reads its inputs as {loaded.manifest.format} and cannot fill blanks; "
            "use a causal model, or scoring=pll with an encoder whose files hold its masked-LM head"
        )
    form, rank = (
        config.form or ("insert" if masked else "quote"),
        config.rank or ("word" if masked else "first_token"),
    )
    if masked and (form, rank) != ("insert", "word"):
        raise FiglangError(
            "masked models fill a blank with one mask for each token of a word; leave form= and rank= out"
        )
    check_idle(config, rank)
    return Way(config, form, rank)


def check_idle(config: RankingConfig, rank: str) -> None:
    """Raises FiglangError for settings that have no effect on a way of ranking."""
    unset = RankingConfig()
    for name in ("compare", "leading_space", "max_tokens") if rank == "word" else ("candidates",):
        if getattr(config, name) != getattr(unset, name):
            raise FiglangError(f"{name}= changes nothing under rank={rank}; leave it out")
    if idle := next(
        (name for name, value in vars(unset.prompt).items() if getattr(config.prompt, name) != value), None
    ):
        raise FiglangError(
            f"prompt.{idle} changes no generation prompt; leave it out, prompts=[…] chooses some"
        )


class Filler:
    """A model that ranks the answers at blanks. It is probed when the object is made, so make it once.

    If whole words are ranked, the answers are ranked among the words `candidates`.
    """

    def __init__(self, loaded: Loaded, way: Way, candidates: Sequence[str]) -> None:
        self._way, self._tokenizer, self._bos = way, loaded.tokenizer, loaded.bos()
        self._candidates = candidates
        self._reader: Reader | None = None
        self._ranker: FirstTokenRanker | None = None
        self._continuation: Continuation | None = None
        config = way.config
        if loaded.manifest.input_format is MASKED:
            self._reader = MaskedReader(MaskedScorer(loaded.network, loaded.tokenizer), loaded.tokenizer)
            return
        room = config.max_tokens if way.rank == "first_token" else LONGEST
        self._continuation = Continuation(loaded.network, room)
        if way.rank == "word":
            self._reader = CausalReader(
                self._continuation, loaded.tokenizer, self._bos, inserts=way.form == "insert"
            )
        else:
            comparison = Comparison(fold=config.compare == "casefold", space=config.leading_space)
            texts = TokenTexts(loaded.tokenizer)
            self._ranker = FirstTokenRanker(
                self._continuation, texts, comparison, config.max_rank, config.max_tokens
            )

    def fill(self, blanks: Sequence[Blank], progress: bool = False) -> list[Ranking]:
        """Rankings in the order of the blanks. Raises NonFiniteError with the item's name if a score is not a
        number."""
        with owned([blank.item.id for blank in blanks]):
            ranks = self._ranked(blanks, progress)
        return [ranking(blank, ranked) for blank, ranked in zip(blanks, ranks, strict=True)]

    def _ranked(self, blanks: Sequence[Blank], progress: bool) -> list[Ranked]:
        answers = [blank.item.options for blank in blanks]
        if self._ranker is not None:
            return self._ranker.rank(infilling.encode(self._tokenizer, blanks, self._bos), answers, progress)
        assert self._reader is not None
        words = WordRanker(self._reader, self._candidates, answers, self._way.config.max_rank)
        if words.unknown:
            log.warning(
                "%d words are not ranked, since they have no tokens or too many: %s",
                len(words.unknown),
                ", ".join(words.unknown[:5]),
            )
        return words.rank(blanks, progress)

    def took(self) -> dict[str, Any]:
        """Tokens read, tokens that would be read without sharing, and their ratio; None if nothing is
        shared."""
        if self._continuation is None or not self._continuation.read:
            return {"tokens": None, "read": None, "ratio": None}
        tokens, read = self._continuation.tokens, self._continuation.read
        return {"tokens": tokens, "read": read, "ratio": tokens / read}


def ranking(blank: Blank, ranked: Ranked) -> Ranking:
    """The ranks at a blank, as they are written to a file."""
    item = blank.item
    return Ranking(
        item.id, item.group, item.options, ranked.ranks, ranked.written, ranked.top, dict(item.attributes)
    )


def _named(source: str) -> str:
    """Candidates in a signature. A file is named with its hash, since the ranks depend on its words."""
    path = Path(source).expanduser()
    return f"{path.name}@{sha256(path)[:8]}" if source != "answers" and path.is_file() else source


def candidates(source: str, answers: Sequence[Sequence[str]]) -> list[str]:
    """The words that answers are ranked among: all `answers`, or the lines of a text file.

    Raises FiglangError if the file cannot be read, or a line is not one word.
    """
    if source == "answers":
        return sorted({answer for some in answers for answer in some})
    try:
        lines = Path(source).expanduser().read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise FiglangError(
            f"candidates={source} cannot be read ({one_line(error)}); give a text file with a word a line"
        ) from error
    words = [line.strip() for line in lines if line.strip()]
    if wrong := next((word for word in words if word.split() != [word]), None):
        raise FiglangError(f"candidates={source}: {wrong!r} is not one word; put a word on each line")
    if not words:
        raise FiglangError(f"candidates={source} has no word; put a word on each line")
    return list(dict.fromkeys(words))
