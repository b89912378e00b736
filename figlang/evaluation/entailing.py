"""NLI classifiers: the score of an option says whether the context entails it."""

from collections.abc import Sequence
from typing import Any

from figlang.errors import FiglangError
from figlang.evaluation import choosing
from figlang.evaluation.how import Answering, How, Rows, Share, origin
from figlang.models.checkpoint import Loaded
from figlang.scoring import nli
from figlang.types import Item, Prediction


class Entailment(Answering):
    """A network that classifies a premise and a hypothesis."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded

    def answer(self, share: Share, how: How) -> tuple[Rows, dict[str, Any]]:
        loaded, task, own = self._loaded, share.task, share.questions.classes
        manifest = loaded.manifest
        order = nli.label_order(loaded.network.config, how.nli.labels, manifest.base)
        if len(order) < len(own):
            raise FiglangError(
                f"{manifest.base} has two classes, and {share.split.source} has three; evaluate it on items "
                "with answers"
            )
        width = len(own) or len(order)
        encoder = choosing.encoder(loaded, how)
        score = how.nli.score or task.entailment_score

        def judge(items: Sequence[Item]) -> list[Prediction]:
            rows = items if own else nli.judgements(items, len(order), task.premises, task.contradicts)
            return choosing.predict(
                loaded.network, nli.classes(order, width), encoder, rows, how.batch_size, how.progress
            )

        def choose(items: Sequence[Item], judged: list[Prediction]) -> list[Prediction]:
            return judged if own else nli.choices(items, judged, score, how.nli.on)

        judged = judge(share.items)
        blind = choosing.unseen(lambda items: choose(items, judge(items)), share.items, encoder, how.blind)
        rows = Rows(
            share.place(choose(share.items, judged)),
            None if blind is None else share.place(blind),
            judged=None
            if own
            else share.place(judged, [item.id for item in share.items for _ in item.options]),
        )
        return rows, {
            **origin(loaded),
            "scoring": "nli:classes" if own else f"nli:{score}(on={how.nli.on})",
            "norm": "none",
            "prompt": "none",
            "text": manifest.text,
            "max_length": encoder.max_length,
            "labels": ",".join(how.nli.labels or loaded.network.config.id2label.values()),
        }
