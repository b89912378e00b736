"""Models that rank words at a blank: a causal or masked network, or a model behind an endpoint."""

from collections.abc import Iterable, Sequence
from typing import Any

from figlang.config.verbs.reproduce import RankingConfig
from figlang.evaluation import filling, served_filling
from figlang.evaluation.how import Answering, How, Rows, Share, origin
from figlang.models.checkpoint import Loaded, Served
from figlang.types import Item


class Ranks(Answering):
    """A model that ranks the words that people wrote into a blank.

    A network is probed once for settings and items, so keep the object.
    """

    def __init__(self, loaded: Loaded | Served) -> None:
        self._loaded = loaded
        self._filler: filling.Filler | served_filling.ServedFiller | None = None
        self._made_for: tuple[filling.Way, Sequence[Item]] | None = None

    def way(self, config: RankingConfig) -> filling.Way:
        """The settings of a command for this model.

        Args:
            config: The settings, with defaults that depend on the model.

        Raises:
            FiglangError: The model cannot fill blanks, or a setting has no effect on it.
        """
        if isinstance(self._loaded, Served):
            return served_filling.way(config, self._loaded)
        return filling.way(config, self._loaded)

    def facts(self, config: RankingConfig, prompts: Iterable[str]) -> dict[str, Any]:
        """The settings that can change a rank, for the signature.

        Args:
            config: The settings of the command.
            prompts: The names of its prompts.
        """
        return self.way(config).facts() | {"prompt": "+".join(prompts), "bos": self._loaded.bos()}

    def prepared(
        self, config: RankingConfig, items: Sequence[Item]
    ) -> filling.Filler | served_filling.ServedFiller:
        """The object that ranks, made if there is none for these settings and items.

        Args:
            config: The settings of the command.
            items: All items of the split. The words to rank among may be their answers.

        Raises:
            FiglangError: The model cannot fill blanks, or the words to rank among cannot be read.
        """
        made_for = (self.way(config), items)
        if self._filler is None or self._made_for != made_for:
            self._filler, self._made_for = self._made(*made_for), made_for
        return self._filler

    def answer(self, share: Share, how: How) -> tuple[Rows, dict[str, Any]]:
        prompt, way = str(how.prompt.question), self.way(how.ranking)
        blanks = share.questions.blanks(share.items, prompt, way.form)
        ranked = self.prepared(how.ranking, share.split.items).fill(blanks, how.progress)
        facts = {**origin(self._loaded), **self.facts(how.ranking, [prompt])}
        return Rows(ranked=share.place(ranked)), facts

    def took(self) -> dict[str, Any]:
        """Tokens read, tokens that would be read without sharing, and their ratio; None if nothing is
        shared."""
        return served_filling.UNKNOWN if self._filler is None else self._filler.took()

    def _made(self, way: filling.Way, items: Sequence[Item]) -> filling.Filler | served_filling.ServedFiller:
        if isinstance(self._loaded, Served):
            return served_filling.ServedFiller(self._loaded, way)
        answers = [item.options for item in items]
        words = filling.candidates(way.config.candidates, answers) if way.rank == "word" else []
        return filling.Filler(self._loaded, way, words)
