"""NLI networks: the order of their classes, their scores, and choices that are made of their judgements.

An item is judged once for each option. The context is the premise and the option is the hypothesis (Liu et
al. 2022, §4.2). If the question is what implies the context, they are exchanged (Comșa et al. 2022, §5). Both
protocols use these judgements. The forced choice compares options. The three-way protocol asks whether the
right option is entailed and the others are contradicted.
"""

import logging
from collections.abc import Callable, Sequence

import numpy as np
import scipy
import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig

from figlang.errors import FiglangError
from figlang.scoring.encode import Batch
from figlang.scoring.head import HeadScorer
from figlang.types import CLASSES, TWO_CLASSES, Inference, Item, Prediction

log = logging.getLogger("figlang")

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
    """Find the output of a network for each class: of CLASSES, or of TWO_CLASSES for a network with two
    outputs.

    A wrong order would silently exchange entailment and contradiction.

    Args:
        config: The configuration of the network. Its id2label names the outputs.
        given: Names from the user, in the order of the outputs; None to use id2label.
        source: The network in the words of the error.

    Raises:
        FiglangError: An output does not have the name of a class, a class has no output, or label2id and
            id2label differ.
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
        f"its outputs, for example nli.labels=[{','.join(CLASSES if len(names) != 2 else TWO_CLASSES)}]"
    )


def _order(names: Sequence[str]) -> tuple[int, ...] | None:
    folded = ["".join(filter(str.isalpha, name.lower())) for name in names]
    classes = [next((known for known, spelt in SPELLINGS.items() if name in spelt), "") for name in folded]
    known = next((order for order in (CLASSES, TWO_CLASSES) if sorted(classes) == sorted(order)), None)
    return None if known is None else tuple(classes.index(name) for name in known)


def classes(order: Sequence[int], width: int | None = None) -> HeadScorer:
    """Logits (B, C) of premise–hypothesis sequences, columns in the order of CLASSES (or TWO_CLASSES).

    Args:
        order: The output of the network for each class, see `label_order`.
        width: The number of classes of the items; None: the network's. If they have two and the network has
            three, not_entailment gets the probability of neutral and contradiction together.
    """
    merged = width is not None and width < len(order)

    def score(network: nn.Module, batch: Batch) -> Tensor:
        logits_BC: Tensor = network(**batch.inputs).logits
        ordered_BC = logits_BC.float()[:, torch.tensor(order, device=logits_BC.device)]
        if not merged:
            return ordered_BC
        return torch.stack((ordered_BC[:, 0], ordered_BC[:, 1:].logsumexp(1)), dim=1)

    return score


def judgements(
    items: Sequence[Item],
    width: int,
    premises: Callable[[Item], list[tuple[str, str]]] | None = None,
    contradicts: bool = True,
) -> list[Inference]:
    """Every option as a question about entailment; ids are `<item>/<option>`.

    Args:
        items: The items.
        width: How many classes the network has.
        premises: Premise and hypothesis for each option of an item; None for its context and its options.
        contradicts: Whether wrong options contradict the context. Then the right class is entailment for the
            right option and contradiction (with two classes: no entailment) for the others; else no class is
            right.

    Returns:
        An inference for each option of each item, in their order.
    """
    names = CLASSES if width == len(CLASSES) else TWO_CLASSES
    rows = []
    for item in items:
        pairs = [(item.context, option) for option in item.options] if premises is None else premises(item)
        for index, (premise, hypothesis) in enumerate(pairs):
            unlabelled = item.gold is None or not contradicts
            gold = None if unlabelled else (0 if index == item.gold else len(names) - 1)
            rows.append(
                Inference(f"{item.id}/{index}", item.group, premise, names, gold, hypothesis=hypothesis)
            )
    return rows


def choices(items: Sequence[Item], judged: Sequence[Prediction], score: str, on: str) -> list[Prediction]:
    """The forced choice between the options of an item.

    Args:
        items: The items.
        judged: The class logits of their options, in the order in which `judgements` made them.
        score: How they become the score of an option, see `option_scores`.
        on: `probabilities` or `logits`.

    Returns:
        A prediction for each item.

    Raises:
        FiglangError: A two-class network does not have this score.
    """
    if not judged:  # of several processes, some may have no item
        return []
    logits_NC = np.asarray([row.scores for row in judged], dtype=np.float64)
    scores = iter(option_scores(logits_NC, score, on).tolist())
    return [Prediction.of(item, tuple(next(scores) for _ in item.options)) for item in items]


def option_scores(logits_NC: np.ndarray, score: str, on: str) -> np.ndarray:
    """Scores (N,) of hypotheses from their class logits (N, C).

    Args:
        logits_NC: Logits with columns in the order of CLASSES or TWO_CLASSES.
        score: A name of a score. `not_contradict` is minus the value of contradiction. It orders options like
            1 − P(contradiction) (Comșa et al. 2022), but it does not round to 1.
        on: `probabilities` or `logits`.

    Raises:
        FiglangError: The score needs contradiction, and the network has two classes.
    """
    if score != "entail" and logits_NC.shape[1] != len(CLASSES):
        raise FiglangError(
            f"nli.score={score} needs a class for contradiction, but this network has two classes; use "
            "nli.score=entail"
        )
    values_NC = logits_NC if on == "logits" else scipy.special.softmax(logits_NC, axis=1)
    if score == "entail":
        return values_NC[:, 0]
    return -values_NC[:, 2] if score == "not_contradict" else values_NC[:, 0] - values_NC[:, 2]
