"""Models that predict and score, opened once and asked as often as wanted."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from pathlib import Path
from typing import Any

from figlang.api.items import Items, items
from figlang.api.predictions import Predictions
from figlang.api.quiet import quietly
from figlang.api.shown import Shown, clipped
from figlang.config import EvaluateConfig, calling
from figlang.config.presets import CONF
from figlang.errors import FiglangError
from figlang.evaluation import assessment, cleanness, opening, predicting, runtime
from figlang.models import weights
from figlang.models.checkpoint import Loaded
from figlang.models.formats import Ability
from figlang.models.hosted.opened import Opened
from figlang.models.manifest import MANIFEST
from figlang.runs import outputs
from figlang.tables import Cell, Number, Table
from figlang.tasks import prompting
from figlang.tasks.examples import Pool

BATCH = EvaluateConfig.batch_size
# Options that other calls take, by the call.
OF_ITEMS = {
    **dict.fromkeys(("data", "split", "paths.data", "paths.tasks"), "figlang.load"),
    **dict.fromkeys(("output", "overwrite"), "predictions.save"),
    "trainer.progress": "predict as progress=True",
}
OF_MODELS = dict.fromkeys(
    ("model", "checkpoint", "epoch", "revision", "trainer", "paths"), "figlang.open_model"
)
# Options of those groups that have an effect whenever they are given.
EVERYWHERE = ("trainer.threads",)


@dataclass(frozen=True, repr=False)
class Scores(Shown):
    """The scores of one item's options by a model, in their order.

    Attributes:
        options: The options.
        scores: The numbers that decide: the option with the highest one is chosen. Their kind is that of the
            scoring.
        log_probabilities: Natural logarithms. Of a causal or masked model: the sum over the tokens of each
            text that was scored. Of an encoder that chooses: its probability of each option, given that one
            of them is right. None for a model that has no probabilities of options.
        choice: The place of the chosen option; None for a tie.
    """

    options: tuple[str, ...]
    scores: tuple[float, ...]
    log_probabilities: tuple[float, ...] | None
    choice: int | None

    @property
    def text(self) -> str | None:
        """The chosen option; None for a tie."""
        return None if self.choice is None else self.options[self.choice]

    def tables(self) -> list[Table]:
        given = self.log_probabilities
        rows: list[tuple[Cell, ...]] = [
            (
                clipped(option),
                Number(self.scores[place]),
                None if given is None else Number(given[place]),
                "chosen" if place == self.choice else "",
            )
            for place, option in enumerate(self.options)
        ]
        return [Table("scores", "Scores", ("option", "score", "log-probability", "choice"), tuple(rows))]


class Model:
    """A model that was opened. `predict` answers many items, `score` one.

    Attributes:
        name: Its name in tables.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = [*words]
        self._opened: dict[str, Opened] = {}
        config = calling.options("evaluate", EvaluateConfig, self._words)
        self.name = config.model.name
        with quietly():
            # The scoring decides which ability of a server is needed, and which network an encoder is.
            if config.checkpoint is not None or config.model.causal:
                self.name = self._open(config).manifest.name
            elif not config.model.served and config.model.init != "tiny":
                weights.locate(config.model.name_or_path)

    def __repr__(self) -> str:
        kinds = sorted({loaded.manifest.format for loaded in self._opened.values()})
        return f"Model {self.name}" + (f", read as {' and '.join(kinds)}" if kinds else "")

    def predict(
        self,
        data: Items,
        *words: str,
        scoring: str | None = None,
        prompt: str | None = None,
        examples: Items | None = None,
        blind: bool = True,
        name: str | None = None,
        batch_size: int = BATCH,
        progress: bool = False,
    ) -> Predictions:
        """Choose an option of every item.

        Args:
            data: The items.
            words: Further options as `figlang evaluate` takes them, for example "scoring.norm=mean".
            scoring: A preset of `scoring=`, for example "pmi". None: the model's own; `clean` for a causal
                model that was not trained here.
            prompt: A preset of `prompt=`, for example "k5".
            examples: The items that the examples of a prompt are drawn from. None: the training items of the
                benchmark.
            blind: Also choose with the context hidden.
            name: The name of these predictions in comparisons and reports. None: one made of what differs.
            batch_size: Items that an encoder reads at a time.
            progress: Show a bar.

        Returns:
            The predictions, in the order of the items, with all settings that they depend on. Nothing is
            written; `save` writes them.

        Raises:
            FiglangError: The model does not answer such items, or an option has no effect on it. Options of
                the model, of the items and of files have none here.

        Example:
            >>> import figlang
            >>> options = ["It was soft.", "It was rough."]
            >>> items = figlang.items([{"context": "Her voice was velvet", "options": options, "gold": 0}])
            >>> predictions = figlang.open_model("minilm", init="tiny").predict(items)
            >>> len(predictions), len(predictions[0].scores)
            (1, 2)
        """
        if not isinstance(data, Items):
            raise FiglangError(
                f"items are wanted, not {type(data).__name__}; make them by figlang.load(name) or "
                "figlang.items(rows)"
            )
        if not data:
            raise FiglangError(f"{data.name} has no items here; give a part with some")
        given = [*words, *([] if blind else ["blind=false"])]
        given += [] if batch_size == BATCH else [f"batch_size={batch_size}"]
        given += [] if scoring is None else [calling.word("scoring", scoring)]
        given += [] if prompt is None else [calling.word("prompt", prompt)]
        given += [] if name is None else [calling.word("name", name)]
        found = self._predict(data, self._config(given, data, progress), examples)
        found.about["command"] = self._command(given, data, examples)
        return found

    def score(self, context: str, options: Sequence[str], *words: str, scoring: str | None = None) -> Scores:
        """Score the options of one context. Nothing is written.

        Args:
            context: The text that the options follow from.
            options: Two texts or more.
            words: Further options as `figlang evaluate` takes them.
            scoring: A preset of `scoring=`, as for `predict`.

        Returns:
            A score and, where the model has them, a log-probability for each option, and the choice.

        Raises:
            FiglangError: The model does not choose between texts, or a text is missing.

        Example:
            >>> import figlang
            >>> model = figlang.open_model("minilm")
            >>> model.score("Her voice was velvet.", ["It was soft.", "It was rough."]).text
            'It was soft.'
        """
        if isinstance(options, str):  # its letters would be the options
            raise FiglangError(f"options={options!r} is one text; give a list of two texts or more")
        one = items([{"context": context, "options": list(options)}], name="one")
        given = [*words, "blind=false"] + ([] if scoring is None else [calling.word("scoring", scoring)])
        config = self._config(given, one, progress=False)
        answered = self._predict(one, config, None).answered
        row = answered.forward[0]
        loaded = self._opened[repr(config.scoring)]
        given_span = (
            config.scoring.span if config.scoring else (loaded.manifest.scoring or {}).get("span", "")
        )
        measured = (answered.measured or [{}])[0].get(str(given_span))
        if measured is not None:
            likely: tuple[float, ...] | None = tuple(float(each[0]) for each in measured)
        elif loaded.manifest.input_format.ability is Ability.CHOOSE:
            likely = _log_shares(row.scores)
        else:
            likely = None
        return Scores(tuple(options), row.scores, likely, row.choice)

    def _config(self, words: Sequence[str], data: Items, progress: bool) -> EvaluateConfig:
        _check_effect(words, OF_MODELS | OF_ITEMS)
        config = calling.options("evaluate", EvaluateConfig, [*self._words, *words])
        split = data.split
        settings = data.data or replace(
            config.data, name=data.name, dataset=split.task, question=split.question, root=None
        )
        trainer = replace(config.trainer, progress=progress)
        return replace(
            config, data=settings, split=data.role, paths=data.paths or config.paths, trainer=trainer
        )

    def _command(self, words: Sequence[str], data: Items, examples: Items | None) -> str:
        """The command that gives the same numbers or, for items of the caller's own, what was called."""
        if not data.words or examples is not None:
            return f"figlang.open_model(…).predict(…)  # {' '.join([*self._words, *words])}"
        return shlex.join(["figlang", "evaluate", *self._words, *data.words, *words])

    def _predict(self, data: Items, config: EvaluateConfig, examples: Items | None) -> Predictions:
        with quietly(config.trainer.progress) as notes:
            runtime.start(config.seed, config.trainer)
            split = data.split if data.data is None else opening.unseen(config, data.split)
            pool = _pool(config, data, examples)
            loaded = self._open(config)
            wanted = outputs.decided_by(config, split, predicting.origin(loaded))
            answers, facts = predicting.answer(loaded, split, assessment.how(config, pool))
            assert answers is not None, "one process alone predicts"
            about = assessment.described(config, split, loaded, facts, wanted)
            # Clean items are found as by the command. A part of the items, or the caller's own items, are not
            # searched.
            if data.words and (search := cleanness.of_checkpoint(config, loaded.manifest, split)):
                about["clean"] = answers.clean(search)
        own = () if data.data is not None else split.items
        return Predictions(answers, about, notes=notes, items=own)

    def _open(self, config: EvaluateConfig) -> Opened:
        key = repr(config.scoring)
        if key not in self._opened:
            runtime.start(config.seed, config.trainer)
            before = [each for each in self._opened.values() if isinstance(each, Loaded)]
            self._opened[key] = opening.model(config, kept=before)
        return self._opened[key]


def _check_effect(words: Sequence[str], elsewhere: Mapping[str, str]) -> None:
    """Refuse words that have no effect on a call, since `elsewhere` names the call that takes them."""
    for word in words:
        if not isinstance(word, str):
            raise FiglangError(f"further options are texts such as 'scoring.norm=mean', not {word!r}")
        key = word.partition("=")[0].lstrip("+~")
        group = key.partition(".")[0]
        if key not in EVERYWHERE and (taken := elsewhere.get(key, elsewhere.get(group))):
            raise FiglangError(f"{key}= has no effect here; give it to {taken}")


def _pool(config: EvaluateConfig, data: Items, examples: Items | None) -> Pool:
    if examples is not None:
        labelled = tuple(item for item in examples if item.gold is not None)
        return Pool(labelled, f"{examples.name}@{examples.split.sha256[:8]}")
    if config.prompt.k and data.data is None and config.prompt.source == "train":
        raise FiglangError(
            f"prompt={config.prompt.name} shows examples, and items of your own have no training file; give "
            "examples=ITEMS"
        )
    return prompting.pool(config.prompt, config.data, config.paths)


def _log_shares(scores: Sequence[float]) -> tuple[float, ...]:
    """Logarithms of the shares of options, which sum to 1 (log-softmax)."""
    most = max(scores)
    total = most + log(sum(exp(score - most) for score in scores))
    return tuple(score - total for score in scores)


def open_model(
    source: str | Path, *words: str, device: str = "auto", seed: int = EvaluateConfig.seed, **options: Any
) -> Model:
    """Open a model.

    Args:
        source: A preset of `model=`, for example "smollm2"; a hub id; a folder with weights, a run folder or
            a released checkpoint; or the address of an OpenAI-compatible server, whose model `name=` names.
        words: Further options as `figlang evaluate` takes them, for example "trainer.threads=4".
        device: auto, cpu, gpu or mps.
        seed: The seed of everything that is drawn.
        options: Options of the group model, for example `dtype="bfloat16"` or `revision="main"`.

    Returns:
        The model, ready to predict. A server is connected to, and an encoder that was not trained here is
        read, when it is first asked: the scoring decides what is needed.

    Raises:
        FiglangError: There is no such model, or it cannot be read.

    Example:
        >>> import figlang
        >>> figlang.open_model("smollm2", init="tiny")
        Model smollm2-tiny, read as causal
    """
    _check_effect(words, OF_ITEMS)
    named_by = named(str(source), options)
    named_by += [calling.word(f"model.{key}", value) for key, value in options.items()]
    named_by += [] if device == "auto" else [calling.word("trainer.accelerator", device)]
    return Model([*named_by, *words, *([] if seed == EvaluateConfig.seed else [f"seed={seed}"])])


def named(source: str, options: dict[str, Any]) -> list[str]:
    """The words that name a model on the command line.

    Args:
        source: As for `open_model`.
        options: Options of the group model. Those that are part of the words are taken out.
    """
    if source.startswith(("http://", "https://")):
        return ["model=served", calling.word("model.endpoint", source)]
    for preset in (source, source.replace("-", "_")):
        if (CONF / "model" / f"{preset}.yaml").is_file():
            return [calling.word("model", preset)]
    folder = Path(source).expanduser()
    if any((folder / file).is_file() for file in (MANIFEST, "recipe.json")):
        words = [calling.word("checkpoint", str(folder))]
        return [*words, calling.word("revision", options.pop("revision"))] if "revision" in options else words
    return [calling.word("model", source)]
