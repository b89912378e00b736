"""How alike an answer and its references are to an encoder: a metric, not a rating."""

from collections.abc import Mapping, Sequence

from figlang.errors import FiglangError
from figlang.evaluation import choosing
from figlang.evaluation.how import How
from figlang.models.checkpoint import Loaded, Served
from figlang.models.formats import Ability
from figlang.scoring.head import scorer
from figlang.tasks.scales import LIKENESS, Verdict
from figlang.types import Generation, Item


def compare(
    model: Loaded | Served,
    answers: Mapping[str, Generation],
    references: Mapping[str, Sequence[str]],
    how: How,
) -> list[Verdict]:
    """Score each answer after its references. The best one of several counts.

    Args:
        model: An encoder. A sentence encoder gives the cosine of the two texts. A network that was trained on
            choices gives the score of the answer as an option after the reference.
        answers: Answers by their names on the sheet.
        references: The references of each answer, by the same names.
        how: Batch size and bar.

    Returns:
        A verdict for each answer, in their order, with the one value `likeness`.

    Raises:
        FiglangError: The model does not compare texts.
    """
    manifest = model.manifest
    if not isinstance(model, Loaded) or manifest.input_format.ability is not Ability.CHOOSE:
        raise FiglangError(
            f"{manifest.name} neither rates nor compares texts; take a causal model or a sentence encoder, "
            "for example model=smollm2 or model=minilm"
        )
    pairs = {
        (reference, one.answer.strip(" ,")): name
        for name, one in answers.items()
        for reference in references[name]
    }
    # An item has two options or more.
    items = [Item(name, name, reference, (text, text), None) for (reference, text), name in pairs.items()]
    score = scorer(manifest.format, manifest.scale, manifest.sentence_vectors)
    rows = choosing.predict(
        model.network, score, choosing.encoder(model, how), items, how.batch_size, how.progress
    )
    # The cosine is multiplied by a scale, which training uses.
    scale = manifest.scale if manifest.input_format.bare else 1.0
    found = {pair: row.scores[0] / scale for pair, row in zip(pairs, rows, strict=True)}
    return [
        Verdict(
            name,
            None,
            {LIKENESS: max(found[reference, one.answer.strip(" ,")] for reference in references[name])},
        )
        for name, one in answers.items()
    ]
