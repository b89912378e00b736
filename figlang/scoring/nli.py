"""NLI networks: the order of their classes, class scores, and how judgements of premise and hypothesis become
a choice.

An item is judged once for each option: premise = context, hypothesis = option (Liu et al. 2022, §4.2), or,
where the question is what the context is implied by, the other way round (Comșa et al. 2022, §5). From these
judgements come both protocols: the forced choice, and the three-way one that asks whether the right option is
entailed and the others are contradicted.
"""

import logging
from collections.abc import Sequence

import numpy as np
import torch
from scipy.special import softmax
from torch import Tensor, nn
from transformers import PreTrainedConfig

from figlang.config import NliConfig
from figlang.errors import FiglangError
from figlang.scoring.encode import Batch
from figlang.scoring.head import Scorer
from figlang.tasks.miqa import prompts as miqa
from figlang.types import CLASSES, Inference, Item, Prediction

log = logging.getLogger("figlang")

TWO_CLASSES = ("entailment", "not_entailment")
SPELLINGS = {
    "entailment": {"entailment", "entail", "entails", "entailed"},
    "neutral": {"neutral"},
    "contradiction": {"contradiction", "contradict", "contradicts", "contradictory"},
    "not_entailment": {
        "notentailment",
        "notentail",
        "notentails",
        "nonentailment",
        "nonentailed",
        "notentailed",
    },
}


def label_order(config: PreTrainedConfig, given: Sequence[str] | None, source: str) -> tuple[int, ...]:
    """Which output of a network each class is: of CLASSES, or of TWO_CLASSES for a network with two.

    The names are those of its id2label, or `given` in the order of its outputs, by a person who knows better.

    Raises FiglangError unless every output has the name of one class, every class an output, and label2id
    agrees: an assumed order would turn entailment into contradiction without a word.
    """
    names = config.id2label
    own = [names[index] for index in range(len(names))]
    found = own if given is None else list(given)
    agreed = given is not None or all(
        (config.label2id or {}).get(name, index) == index for index, name in names.items()
    )
    order = _order(found) if len(found) == len(names) and agreed else None
    if order is not None:
        if _order(own) not in (None, order):
            log.warning(
                "%s: nli.labels=[%s] goes before the labels that it names itself: %s",
                source,
                ",".join(found),
                ", ".join(own),
            )
        return order
    what = f"nli.labels=[{','.join(found)}]" if given is not None else f"its labels are {', '.join(found)}"
    what += "" if agreed else " by id2label and others by label2id"
    raise FiglangError(
        f"{source}: {what}, so which of its {len(names)} outputs is which class cannot be told; give the "
        "classes in the order of "
        f"its outputs, as in nli.labels=[{','.join(CLASSES if len(names) != 2 else TWO_CLASSES)}]"
    )


def _order(names: Sequence[str]) -> tuple[int, ...] | None:
    folded = ["".join(filter(str.isalpha, name.lower())) for name in names]
    classes = [next((known for known, spelt in SPELLINGS.items() if name in spelt), "") for name in folded]
    known = next((order for order in (CLASSES, TWO_CLASSES) if sorted(classes) == sorted(order)), None)
    return None if known is None else tuple(classes.index(name) for name in known)


def classes(order: Sequence[int]) -> Scorer:
    """Logits (B, C) of premise–hypothesis sequences, columns in the order of CLASSES (or TWO_CLASSES)."""

    def score(network: nn.Module, batch: Batch) -> Tensor:
        logits_BC: Tensor = network(**batch.inputs).logits
        return logits_BC.float()[:, torch.tensor(order, device=logits_BC.device)]

    return score


def judgements(items: Sequence[Item], width: int) -> list[Inference]:
    """Every option as a hypothesis about its context, for a network of `width` classes; ids are
    `<item>/<option>`.

    The right option counts as entailed, every other one as contradicted (with two classes: as not entailed);
    not so of MiQA, whose wrong options need not be contradicted.
    """
    names = CLASSES if width == len(CLASSES) else TWO_CLASSES
    rows = []
    for item in items:
        asks = item.attributes.get("question", ())
        for index, option in enumerate(item.options):
            gold = None if item.gold is None or asks else (0 if index == item.gold else len(names) - 1)
            premise, hypothesis = (option, item.context) if "implied-by" in asks else (item.context, option)
            rows.append(
                Inference(f"{item.id}/{index}", item.group, premise, names, gold, hypothesis=hypothesis)
            )
    return rows


def score_of(items: Sequence[Item], nli: NliConfig) -> str:
    """What makes an option of these items plausible: `nli.score`, else what was published for their
    benchmark."""
    return nli.score or ("not_contradict" if miqa.are_questions(items) else "entail_minus_contradict")


def choices(items: Sequence[Item], judged: Sequence[Prediction], nli: NliConfig) -> list[Prediction]:
    """The forced choice: each item's options scored by `nli.score` of their judgements, in the order
    `judgements` made them.

    Raises FiglangError for a score that a two-class network does not have.
    """
    logits_NC = np.asarray([row.scores for row in judged], dtype=np.float64)
    scores = iter(option_scores(logits_NC, score_of(items, nli), nli.on).tolist())
    return [Prediction.of(item, tuple(next(scores) for _ in item.options)) for item in items]


def option_scores(logits_NC: np.ndarray, score: str, on: str) -> np.ndarray:
    """Scores (N,) of hypotheses from their class logits (N, C), columns in the order of CLASSES or
    TWO_CLASSES.

    `not_contradict` is minus the contradiction, which orders options as 1 − P(contradiction) does (MiQA's
    score) and keeps apart what would round to 1.
    """
    if score != "entail" and logits_NC.shape[1] != len(CLASSES):
        raise FiglangError(
            f"nli.score={score} needs a class for contradiction, and this network has two classes; use "
            "nli.score=entail"
        )
    values_NC = logits_NC if on == "logits" else softmax(logits_NC, axis=1)
    if score == "entail":
        return values_NC[:, 0]
    return -values_NC[:, 2] if score == "not_contradict" else values_NC[:, 0] - values_NC[:, 2]
