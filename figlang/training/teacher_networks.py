"""Scores and sentence vectors of teachers that are networks (`method.teacher_model`).

A dual encoder reads each distinct text of the training items once. Its scores are products of the vectors of
these texts. Any other teacher predicts the items as an evaluation does.

Shape letters: P items, C options, U distinct texts, H hidden.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from figlang.config import ModelConfig, TrainConfig
from figlang.errors import FiglangError
from figlang.evaluation import predicting, runtime
from figlang.files.sources import PACKAGE
from figlang.models import checkpoint, layout, weights
from figlang.models import manifest as manifests
from figlang.models.formats import Ability
from figlang.models.manifest import Manifest
from figlang.runs import teacher_models
from figlang.training import teacher_vectors
from figlang.types import Item, Split

log = logging.getLogger("figlang")


@dataclass(frozen=True)
class Texts:
    """The distinct texts of training items, by number.

    Attributes:
        texts: Each text once, (U,). A text of an item that is cut is another one, because it is read as it
            stands.
        cut: Whether the item of each text is cut, (U,).
        contexts: The text of each item's context, (P,).
        options: The texts of each item's options, (P, C); -1 if an item has fewer than C.
    """

    texts: list[str]
    cut: list[bool]
    contexts: Tensor
    options: Tensor

    @classmethod
    def of(cls, items: Sequence[Item]) -> "Texts":
        numbers: dict[tuple[str, bool], int] = {}
        for item in items:
            for text in item.texts:
                numbers.setdefault((text, item.cut), len(numbers))
        width = max(len(item.options) for item in items)
        options = torch.full((len(items), width), -1)
        for place, item in enumerate(items):
            own = [numbers[text, item.cut] for text in item.options]
            options[place, : len(item.options)] = torch.tensor(own)
        contexts = torch.tensor([numbers[item.context, item.cut] for item in items])
        return cls([text for text, _ in numbers], [cut for _, cut in numbers], contexts, options)


@dataclass
class Teaching:
    """What networks say of the training items.

    Attributes:
        scores: The scores (C,) of each teacher for each item, by its id, always in one order.
        texts: The texts of the items.
        vectors: For each dual encoder, a vector of each text, (U, H) in float16. The product of two of them
            is the score of the one text after the other.
    """

    scores: dict[str, list[tuple[float, ...]]]
    texts: Texts
    vectors: list[Tensor] = field(default_factory=list)


def teach(config: TrainConfig, train: Split) -> Teaching:
    """Open each teacher, and let it score the training items.

    Args:
        config: The options of the training.
        train: The training items.

    Raises:
        FiglangError: A teacher cannot be opened or cannot score the items, or it is a network for inference.
            Or none has vectors of texts and `method.similarity_weight` asks for them.
    """
    method = config.method
    said = Teaching({item.id: [] for item in train.items}, Texts.of(train.items))
    teachers = teacher_models.by_identity(method.teacher_model)
    if method.similarity_weight:
        _check_similarities([named for _, named in teachers])
    for identity, named in teachers:
        source = str(teacher_models.folder(named))
        loaded = checkpoint.load(source, _over(source, method.teacher_base), config.paths.cache)
        _check_chooses(loaded.manifest, named)
        layout.place(loaded.network, runtime.device(config.trainer))
        log.info("%s scores %d training items", loaded.manifest.name, len(train.items))
        if loaded.manifest.input_format.bare:
            said.vectors.append(
                teacher_vectors.of(
                    config, loaded, identity, list(zip(said.texts.texts, said.texts.cut, strict=True))
                )
            )
            rows = _products(said.vectors[-1], said.texts)
        else:
            answers, _ = predicting.answer(
                loaded, train, predicting.How(config.trainer.progress, blind=False)
            )
            assert answers is not None, "one process answers"
            rows = [row.scores for row in answers.forward]
        for item, row in zip(train.items, rows, strict=True):
            said.scores[item.id].append(row[: len(item.options)])
    return said


def _over(source: str, base: str | None) -> ModelConfig:
    """The settings with which a teacher is opened: over a copy of its network, if that has a hub id."""
    teacher = ModelConfig(name_or_path=source)
    if base is None or not weights.has_adapters(teacher):
        return teacher
    below = weights.below(teacher).name_or_path
    return teacher if below.startswith(PACKAGE) or Path(below).exists() else ModelConfig(base=base)


def _check_similarities(names: Sequence[str]) -> None:
    """Check that a teacher has vectors of texts, before any reads the items: that may take an hour.

    Raises:
        FiglangError: None has.
    """
    places = [weights.locate(str(teacher_models.folder(named))) for named in names]
    found = [manifests.read(place, named, None) for place, named in zip(places, names, strict=True)]
    if not any(manifest.input_format.bare for manifest in found):
        raise FiglangError(
            "method.similarity_weight compares vectors of texts, and each network of method.teacher_model "
            "reads a context with its options; add a dual encoder, or leave the weight out"
        )


def _check_chooses(manifest: Manifest, named: str) -> None:
    """Check that a teacher chooses between options.

    Raises:
        FiglangError: It says of premises and hypotheses whether one follows from the other.
    """
    if manifest.input_format.ability is Ability.ENTAIL:
        raise FiglangError(
            f"method.teacher_model={named} is a network for inference ({manifest.format}), and a student "
            "learns from networks that choose; give one of these"
        )


def _products(vectors_UH: Tensor, texts: Texts) -> list[tuple[float, ...]]:
    """The scores of the options of each item."""
    contexts_PH = vectors_UH[texts.contexts].float()
    columns = [
        (contexts_PH * vectors_UH[options.clamp(min=0)].float()).sum(1) for options in texts.options.unbind(1)
    ]
    return [tuple(row) for row in torch.stack(columns, 1).tolist()]
