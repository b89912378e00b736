"""Predictions of a loaded network for a split, by its input format, into files; and what their numbers depend
on."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from figlang.config import NliConfig, PromptConfig, ScoringConfig
from figlang.errors import FiglangError
from figlang.evaluation import asking, judging, soundness
from figlang.evaluation import choosing as evaluation
from figlang.evaluation.processes import Processes
from figlang.files.whole import write_lines
from figlang.models import gguf, layout, networks, opening
from figlang.models.checkpoint import Loaded, Served
from figlang.models.manifest import UNTRAINED, Manifest
from figlang.models.served.scorer import ServedScorer
from figlang.runs.predictions import (
    BACKWARD,
    BLIND,
    FORWARD,
    JUDGEMENTS,
    MEASURED,
    REPLIES,
    check_finite,
    records,
    write_predictions,
)
from figlang.scoring import choices, likelihood, nli
from figlang.scoring.encode import Encoder
from figlang.scoring.head import scorer
from figlang.scoring.masked import MaskedScorer
from figlang.scoring.tree.causal import CausalScorer
from figlang.scoring.wording import Wording, check_alone
from figlang.tasks import prompting
from figlang.tasks.blind import distinct, hidden
from figlang.tasks.miqa import prompts as miqa
from figlang.tasks.munch import prompts as munch
from figlang.tasks.prompting import Pool
from figlang.types import CLASSES, Inference, Item, Judgement, Prediction, Split, Substitution

log = logging.getLogger("figlang")

# The format that each kind of scoring is for.
SCORED = {"likelihood": "causal", "pll": "pll", "nli": "nli", "letter": "letter"}
# Of questions, whatever a checkpoint was trained with: no normalisation was published.
ANSWER = ScoringConfig("answer", span="answer", backward_span="answer", norm="sum")


def answer_scoring(scoring: ScoringConfig | None) -> ScoringConfig:
    """How the answers to a question are scored, by default as ANSWER says.

    Raises FiglangError for a scoring with settings for the strings of Fig-QA, which would change nothing
    here.
    """
    if scoring is None:
        return ANSWER
    for name in ("text", "template", "span", "examples"):
        if (value := getattr(scoring, name)) != getattr(ANSWER, name):
            raise FiglangError(
                f"scoring={scoring.name} has scoring.{name}={value}, but of MiQA's questions the answer "
                "alone is scored as it is; "
                "take scoring=answer, pmi or prior_corrected, with any scoring.norm"
            )
    return scoring


@dataclass(frozen=True)
class How:
    """How to predict: a scoring instead of the manifest's own, a prompt with the pool its examples are drawn
    from, what an NLI network's judgements amount to, the longest input of an encoder in tokens, and whether
    the options are also scored with the context hidden (see figlang/tasks/blind.py).

    Of several `processes` each predicts its share of the items, and the first one writes what all have found.
    """

    progress: bool = False
    batch_size: int = 64
    scoring: ScoringConfig | None = None
    prompt: PromptConfig = field(default_factory=PromptConfig)
    pool: Pool = field(default_factory=Pool)
    nli: NliConfig = field(default_factory=NliConfig)
    processes: Processes = field(default_factory=Processes)
    max_length: int | None = None
    blind: bool = True


@dataclass(frozen=True)
class Rows:
    """What the files hold for some items: predictions, those with the context hidden, and by format backward
    ones, log-probabilities, judgements or replies."""

    forward: list[Prediction]
    blind: list[Prediction] | None = None
    backward: list[Prediction] | None = None
    measured: list[dict[str, Any]] | None = None
    judged: list[Prediction] | None = None
    replies: list[dict[str, Any]] | None = None


def predict(loaded: Loaded | Served, split: Split, folder: Path, how: How) -> dict[str, Any]:
    """Write predictions.jsonl and, by format, what else there is; returns what can change a score.

    Raises FiglangError for a scoring, prompt or split that the network's format has no use for.
    """
    manifest = loaded.manifest
    origin(loaded)  # before scoring, which may lay the weights out anew
    idle = (
        None
        if how.scoring is None or SCORED[how.scoring.kind] == manifest.format
        else f"scoring={how.scoring.name}"
    )
    if manifest.format not in ("causal", "pll", "letter") and how.prompt != PromptConfig():
        idle = idle or f"prompt={how.prompt.name}"
    if manifest.format in ("causal", "pll") and how.max_length is not None:
        idle = idle or f"max_length={how.max_length}"
    if manifest.format != "nli":
        idle = idle or next(
            (f"nli.{name}" for name, value in vars(NliConfig()).items() if getattr(how.nli, name) != value),
            None,
        )
    if idle:
        raise FiglangError(
            f"{idle} is for other models: {manifest.name} reads its inputs as {manifest.format}; leave it out"
        )
    if manifest.format != "nli" and isinstance(split.items[0], Inference):
        raise FiglangError(
            f"{split.source} has premises with hypotheses, which only NLI networks read, and {manifest.name} "
            "reads its inputs as "
            f"{manifest.format}; use a run of method=nli or model=nli_roberta"
        )
    if isinstance(split.items[0], Substitution):
        raise FiglangError(
            f"{split.source} asks for words and gives none to choose from; data=munch has choices"
        )
    asks, judges = miqa.are_questions(split.items), isinstance(split.items[0], Judgement)
    if how.prompt.question is not None and not (asks or judges or manifest.format == "letter"):
        raise FiglangError(
            f"prompt={how.prompt.name} asks questions of MiQA or MUNCH, and {split.source} holds none; use "
            "data=miqa"
        )
    share = how.processes.share(split.items)
    with soundness.explained(loaded):
        return _predict(loaded, split, share, folder, how)


def _predict(
    loaded: Loaded | Served, split: Split, share: Sequence[Item], folder: Path, how: How
) -> dict[str, Any]:
    manifest, asks, judges = (
        loaded.manifest,
        miqa.are_questions(split.items),
        isinstance(split.items[0], Judgement),
    )
    if manifest.format == "letter":
        rows, facts = _letters(loaded, split, share, how)
    elif isinstance(loaded, Served) or manifest.format in ("causal", "pll"):
        way = _judgements if judges else _questions if asks else _likelihood
        rows, facts = way(loaded, split, share, how)
    else:
        plain = _judgements if judges else _nli if manifest.format == "nli" else _encoder
        rows, facts = plain(loaded, split, share, how)
    if parts := how.processes.gather(rows):
        _write(folder, split, parts)
    return facts


def _write(folder: Path, split: Split, parts: list[Rows]) -> None:
    order = {item.id: number for number, item in enumerate(split.items)}

    def place(name: str) -> int:
        # A judgement's id is its item's with the option, that of a swapped question its item's with the
        # order; those of an item stay as they are, since sorting is stable.
        return order[name] if name in order else order[name.rpartition("/")[0]]

    def joined(lists: Sequence[list[Prediction] | None]) -> list[Prediction]:
        return sorted((row for rows in lists for row in rows or ()), key=lambda row: place(row.id))

    predicted: dict[str, list[Prediction] | None] = {
        name: None if lists[0] is None else joined(lists)
        for name, lists in (
            (FORWARD, [part.forward for part in parts]),
            (BACKWARD, [part.backward for part in parts]),
            (BLIND, [part.blind for part in parts]),
            (JUDGEMENTS, [part.judged for part in parts]),
        )
    }
    lines: dict[str, list[str] | None] = {}
    for name, kept in (
        (MEASURED, [part.measured for part in parts]),
        (REPLIES, [part.replies for part in parts]),
    ):
        rows = sorted((row for some in kept for row in some or ()), key=lambda row: place(row["id"]))
        lines[name] = None if kept[0] is None else records(rows)
    # All are looked at before the first is written.
    for found in predicted.values():
        check_finite(found or ())
    for name, found in predicted.items():
        if found is None:
            (folder / name).unlink(missing_ok=True)  # of an earlier attempt
        else:
            write_predictions(folder / name, found)
    for name, texts in lines.items():
        if texts is None:
            (folder / name).unlink(missing_ok=True)
            continue
        write_lines(folder / name, texts)


def _encoder(loaded: Loaded, split: Split, share: Sequence[Item], how: How) -> tuple[Rows, dict[str, Any]]:
    manifest = loaded.manifest
    encoder = _tokens(loaded, how)
    score = scorer(manifest.format, manifest.scale, manifest.sentence_vectors)

    def read(items: Sequence[Item]) -> list[Prediction]:
        return evaluation.predict(loaded.network, score, encoder, items, how.batch_size, how.progress)

    return Rows(read(share), _unseen(read, share, encoder, how)), {
        **origin(loaded),
        "scoring": _dual(manifest) if manifest.format == "dual" else manifest.format,
        "norm": "none",
        "prompt": "none",
        "text": manifest.text,
        "max_length": encoder.max_length,
    }


def _nli(loaded: Loaded, split: Split, share: Sequence[Item], how: How) -> tuple[Rows, dict[str, Any]]:
    manifest = loaded.manifest
    order = nli.label_order(loaded.network.config, how.nli.labels, manifest.base)
    own = isinstance(split.items[0], Inference)
    if own and len(order) != len(CLASSES):
        raise FiglangError(
            f"{manifest.base} has two classes, and {split.source} has three; evaluate it on items with "
            "answers"
        )
    encoder = _tokens(loaded, how)

    def judge(items: Sequence[Item]) -> list[Prediction]:
        rows = items if own else nli.judgements(items, len(order))
        return evaluation.predict(
            loaded.network, nli.classes(order), encoder, rows, how.batch_size, how.progress
        )

    def choose(items: Sequence[Item], judged: list[Prediction]) -> list[Prediction]:
        return judged if own else nli.choices(items, judged, how.nli)

    judged = judge(share)
    blind = _unseen(lambda items: choose(items, judge(items)), share, encoder, how)
    return Rows(choose(share, judged), blind, judged=None if own else judged), {
        **origin(loaded),
        "scoring": "nli:classes" if own else f"nli:{nli.score_of(share, how.nli)}(on={how.nli.on})",
        "norm": "none",
        "prompt": "none",
        "text": manifest.text,
        "max_length": encoder.max_length,
        "labels": ",".join(how.nli.labels or loaded.network.config.id2label.values()),
    }


def _unseen(
    predicted: Callable[[Sequence[Item]], list[Prediction]], share: Sequence[Item], encoder: Encoder, how: How
) -> list[Prediction] | None:
    """Predictions of an encoder with the context hidden, options that come again being read once; None where
    there are none."""
    if not how.blind:
        return None
    if not encoder.reads_nothing:
        log.warning(
            "nothing is measured with the context hidden: this tokenizer makes no token of an empty text"
        )
        return None
    kept, places = distinct([hidden(item) for item in share])
    found = predicted(kept)
    return [Prediction.of(item, found[place].scores) for item, place in zip(share, places, strict=True)]


def _dual(manifest: Manifest) -> str:
    vectors = manifest.vectors or {}
    named = (
        {**vectors, "pooling": "+".join(vectors["pooling"]), "prompt": repr(vectors["prompt"])}
        if vectors
        else {}
    )
    settings = {"scale": f"{manifest.scale:g}", **named}
    return f"dual({','.join(f'{name}={value}' for name, value in settings.items())})"


def _tokens(loaded: Loaded, how: How) -> Encoder:
    manifest = loaded.manifest
    if how.max_length is not None:
        networks.check_positions(loaded.network, manifest.name, how.max_length, "max_length")
    return Encoder(
        loaded.tokenizer,
        manifest.format,
        manifest.text,
        how.max_length or manifest.max_length,
        manifest.sentence_vectors,
    )


def _likelihood(
    loaded: Loaded | Served, split: Split, share: Sequence[Item], how: How
) -> tuple[Rows, dict[str, Any]]:
    manifest, prompt = loaded.manifest, how.prompt
    scoring = how.scoring or ScoringConfig(**manifest.scoring or {})
    bos = loaded.bos(scoring)
    check_alone(scoring, bos, prompt.k)
    cut = split.items[0].cut
    wording = Wording(scoring, prompt, cut)
    # Of all items, not of the share: a draw for the whole split leaves out all its metaphors.
    shown = prompting.draw(split.items, how.pool.examples, wording.example, prompt)
    found = likelihood.choose(engine(loaded, scoring, bos), share, wording, shown, how.progress, how.blind)
    masking = f"masking={scoring.masking}," if scoring.kind == "pll" else ""
    backward = (
        f"backward={scoring.backward_span},minus_alone={scoring.minus_alone},examples={scoring.examples}"
    )
    return Rows(found.forward, found.blind, found.backward, found.measured), {
        **origin(loaded),
        "scoring": f"{scoring.name}({masking}span={scoring.span},{backward})",
        "norm": scoring.norm,
        "prompt": describe(prompt, how.pool.source),
        "text": f"{'raw' if cut else scoring.text}({wording.template!r})",
        "bos": bos,
        **({} if scoring.overflow == "error" else {"overflow": scoring.overflow}),
    }


def _questions(
    loaded: Loaded | Served, split: Split, share: Sequence[Item], how: How
) -> tuple[Rows, dict[str, Any]]:
    prompt = how.prompt
    scoring = answer_scoring(how.scoring)
    bos = loaded.bos(scoring)
    shots = miqa.Shots(prompt.k, prompt.seed, prompt.per, prompt.separator)
    pool = [one for one in how.pool.examples if isinstance(one, Item)]
    wording = miqa.wording_of(prompt)
    asked = miqa.ask(share, wording, shots, pool)
    unseen = miqa.ask(share, wording, shots, pool, blind=True) if how.blind else []
    measured = choices.measure(
        engine(loaded, scoring, bos), [*asked, *unseen], scoring.minus_alone, how.progress
    )
    seen = slice(len(asked))
    # The answer alone is never taken off what is hidden: without words around it nothing would be left.
    blind = measured.predictions(scoring.norm)[len(asked) :] if how.blind else None
    masking = f"masking={scoring.masking}," if scoring.kind == "pll" else ""
    rows = Rows(
        measured.predictions(scoring.norm, scoring.minus_alone)[seen],
        blind,
        measured=measured.records()[seen],
    )
    return rows, {
        **origin(loaded),
        "scoring": f"{scoring.name}({masking}minus_alone={scoring.minus_alone})",
        "norm": scoring.norm,
        "prompt": miqa.describe(prompt),
        "shots": prompt.k,
        "bos": bos,
    }


def _letters(
    loaded: Loaded | Served, split: Split, share: Sequence[Item], how: How
) -> tuple[Rows, dict[str, Any]]:
    scoring = how.scoring or ScoringConfig(**loaded.manifest.scoring or {})
    asked = asking.ask(loaded, split.items, share, scoring, how.prompt, how.pool, how.progress, how.blind)
    return Rows(asked.predictions, asked.blind, replies=asked.replies), {**origin(loaded), **asked.facts}


def _judgements(
    loaded: Loaded | Served, split: Split, share: Sequence[Item], how: How
) -> tuple[Rows, dict[str, Any]]:
    if how.prompt.question is None:
        raise FiglangError(
            f"prompt={how.prompt.name} asks no question; MUNCH needs prompt=munch, with the prompt.question "
            "of an id"
        )
    munch.form_of(how.prompt.question)  # or it is none
    place = "/".join(map(str, munch.PROMPTS[how.prompt.question][:3]))
    judge = judging.judge(loaded, how.prompt, how.scoring)
    judged = judge.judge(share, how.prompt.question, how.progress, how.blind)
    facts = {**origin(loaded), **judge.facts(how.prompt.question), "question": place}
    return Rows(judged.predictions, judged.blind, measured=judged.records), facts


def engine(loaded: Loaded | Served, scoring: ScoringConfig, bos: str) -> likelihood.Scorer:
    """What gives the log-probabilities of a model; `bos` stands before every string."""
    if isinstance(loaded, Served):
        return ServedScorer(loaded.endpoint, bos)
    if loaded.manifest.format == "pll":
        return MaskedScorer(loaded.network, loaded.tokenizer, scoring.masking)
    return CausalScorer(loaded.network, loaded.tokenizer, bos, scoring.overflow)


def describe(prompt: PromptConfig, source: str) -> str:
    """A prompt in a signature."""
    parts = []
    if prompt.suffix:
        parts.append(f"suffix={prompt.suffix!r},answer={prompt.answer}")
    if prompt.k:
        parts.append(
            f"k={prompt.k},source={source},per={prompt.per},separator={prompt.separator!r},seed={prompt.seed}"
        )
    name = "custom" if prompt.name == "none" else prompt.name
    return f"{name}({','.join(parts)})" if parts else "none"


def origin(loaded: Loaded | Served) -> dict[str, Any]:
    """What a model is and what it was trained on, for a signature; `weights` is the network's fingerprint."""
    manifest = loaded.manifest
    if isinstance(loaded, Served):
        return {
            "model": manifest.name,
            "base": manifest.base,
            "method": manifest.method,
            **loaded.endpoint.facts,
        }
    # In how many bits a file kept the weights is lost once they are read: they become the float32 values that
    # they stand for.
    kept = manifest.settings == UNTRAINED and gguf.is_gguf(manifest.base)
    return {
        "model": manifest.name,
        "base": manifest.base,
        **({"file": gguf.quantization(manifest.base)} if kept else {}),
        "method": manifest.method,
        "trained": f"{manifest.trained_on}@{manifest.settings}",
        "train_seed": manifest.seed,
        "precision": layout.precision(loaded.network),
        "weights": loaded.fingerprint,
        **(
            {"remote_code": True}
            if opening.runs_foreign_code(loaded.network, loaded.network.config, loaded.tokenizer)
            else {}
        ),
    }
