"""From a configuration and its data to everything a fit needs: network, tokenised examples, manifest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from peft import PeftModel
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from figlang.config import DataConfig, MethodConfig, ModelConfig, PromptConfig, TrainConfig
from figlang.config.signature import digest
from figlang.errors import FiglangError
from figlang.evaluation.choosing import encode_all
from figlang.models import adapters, calibrated, layout, lora, networks, sentences, weights
from figlang.models.below import weights_sha256, within
from figlang.models.checkpoint import ancestry, beginning, causal_manifest, sentence_vectors
from figlang.models.formats import FORMATS
from figlang.models.manifest import Manifest
from figlang.models.rehearsal import rehearse
from figlang.runs import teachers
from figlang.runs.training import recipe as recipe_of
from figlang.scoring.encode import Encoder
from figlang.scoring.head import scorer
from figlang.scoring.likelihood import partners_of
from figlang.scoring.nli import classes, label_order
from figlang.scoring.requests import RequestEncoder
from figlang.scoring.tree.anatomy import dissect
from figlang.scoring.tree.branching import EncodedStrings, PromptedScorer, StringEncoder, StringScorer
from figlang.scoring.window import positions
from figlang.scoring.wording import Wording, check_alone
from figlang.tasks.mix import original
from figlang.training import anchor_texts, anchoring, distillation, saving, teacher_networks
from figlang.training.agreement import continues
from figlang.training.anchored import ANCHORS, AnchoredModule
from figlang.training.base import ChoiceModule, Score
from figlang.training.causal_lm import CausalLMModule
from figlang.training.cross_entropy import CrossEntropyModule, drops
from figlang.training.held_out import labelled, select
from figlang.training.similarity import SimilarityModule
from figlang.training.step_wide import StepWideModule
from figlang.types import CLASSES, Item, SentenceVectors, Split


@dataclass(frozen=True)
class Prepared:
    """Data, network and examples of a run.

    Attributes:
        train: What is trained on.
        validation: What is chosen from after every epoch.
        network: The network with its adapters, if there are any.
        tokenizer: Its tokenizer.
        examples: The training items in tokens, or pairs of them.
        validation_examples: The validation items in tokens.
        selection_examples: Items in tokens whose loss decides which epoch is exported; may be empty.
        anchor_examples: Other texts in tokens that an anchor reads; may be empty.
        collate: Makes a batch of examples.
        score: Scores of the options of a batch, (B, C), by the network.
        kind: The way of training, with what it needs besides the settings and the network.
        head: Names of the parameters on top of the network.
        manifest: What the exported network says of itself.
        notes: Sentences about the data, for the log and metrics.json.
        merges: Whether adapters are exported merged.
        selection_groups: Number of groups (pairs) of the items that select.
    """

    train: Split
    validation: Split
    network: PreTrainedModel | PeftModel
    tokenizer: PreTrainedTokenizerBase
    examples: Sequence[Any]
    validation_examples: Sequence[Any]
    selection_examples: Sequence[Any]
    anchor_examples: Sequence[Any]
    collate: Callable[[Sequence[Any]], Any]
    score: Score
    kind: partial[ChoiceModule]
    head: frozenset[str]
    manifest: Manifest
    notes: list[str]
    merges: bool = False
    selection_groups: int = 0

    @property
    def share(self) -> float:
        """Share of the weights that are trained; the frozen copy that PEFT keeps of a head does not count."""
        counted = [
            parameter for name, parameter in self.network.named_parameters() if "original_module" not in name
        ]
        trained = sum(parameter.numel() for parameter in counted if parameter.requires_grad)
        return float(trained / sum(parameter.numel() for parameter in counted))

    @property
    def chance(self) -> float:
        """Accuracy of guessing on the training items that have a label."""
        items = labelled(self.train.items)
        return sum(1 / len(item.options) for item in items) / len(items)


def prepare(config: TrainConfig, train: Split, validation: Split) -> Prepared:
    """Build the network with its adapters and tokenise once.

    Everything that can be wrong with a configuration is found here, before a run folder is touched.
    """
    kept, selected, notes = select(config.method, train, validation, config.seed)
    make = _causal if config.model.causal else _encoder
    ready = make(config, replace(train, items=kept), validation, selected)
    saving.check(ready.network, config.method)
    if config.method.r_drop and not drops(ready.network):
        raise FiglangError(
            f"{config.model.name} has no dropout, so method.r_drop={config.method.r_drop:g} changes nothing; "
            "leave it out"
        )
    if config.method.teacher or config.method.teacher_model:
        ready = _taught(config, ready)
    # Adapters over adapters: plain peft could not load them.
    stacked = config.peft.stack == "merge" and weights.has_adapters(config.model)
    merges = config.peft.name != "none" and (config.peft.merge or stacked)
    return replace(
        ready,
        notes=[*train.notes, *validation.notes, *notes, *ready.notes],
        merges=merges,
        selection_groups=len({original(item.group) for item in selected}),
    )


def _taught(config: TrainConfig, ready: Prepared) -> Prepared:
    """The prepared data with the distributions of teachers in the training examples."""
    method, items, kind = config.method, ready.train.items, ready.kind
    found = teachers.read(method.teacher, items, config.paths) if method.teacher else {}
    if method.teacher_model:
        teaching = teacher_networks.teach(config, ready.train)
        found = {item.id: [*found.get(item.id, []), *teaching.scores[item.id]] for item in items}
        if method.similarity_weight:
            kind = partial(SimilarityModule, teaching=teaching, **kind.keywords)
    examples = distillation.taught(ready.examples, items, found, method.temperature)
    return replace(
        ready, examples=examples, kind=kind, notes=[*ready.notes, distillation.counted(items, found)]
    )


def _start(config: TrainConfig) -> ModelConfig:
    """The model from which the network is built. If adapters are trained further, it is their base."""
    return weights.below(config.model) if continues(config) else config.model


def _named(config: TrainConfig) -> ModelConfig:
    """The model by whose name the network is found again: that of the earlier adapters, also if
    `model.base` is where it lies here."""
    return weights.below(replace(config.model, base=None)) if continues(config) else config.model


def _encoder(config: TrainConfig, train: Split, validation: Split, selected: tuple[Item, ...]) -> Prepared:
    model, method = _start(config), config.method
    _check_pairs(config, train)
    items = (*train.items, *validation.items, *selected)
    width = max(len(item.options) for item in items)
    # A network for inference has three classes. Items of two classes train it too.
    options = len(CLASSES) if method.name == "nli" else width
    others, anchor_notes = anchor_texts.texts(config)
    texts = [*(text for item in items for text in item.texts), *others]
    format = "nli" if method.name == "nli" else method.format
    network, tokenizer, new = networks.begin(model, format, texts, options, cache=config.paths.cache)
    vectors = sentence_vectors(config.model) if FORMATS[format].bare else SentenceVectors()
    score = scorer(method.format, method.scale, vectors)
    if method.name == "nli":
        # A network that knows NLI goes on with the order its classes are in.
        named = weights.classes_of(config.model) if continues(config) else network.config
        order = label_order(named, config.nli.labels, model.name_or_path)
        networks.name_classes(network, [CLASSES[order.index(output)] for output in range(len(order))])
        score = classes(order, width)
    encoder = Encoder(tokenizer, format, method.text, model.max_length, vectors, method.share_texts)
    examples, notes = encode_all(encoder, train.items)
    rehearse(network, score, encoder, examples)
    validation_examples, validation_notes = encode_all(encoder, validation.items)
    manifest = Manifest(
        name=model.name,
        base=networks.describe(_named(config)),
        method=_method_name(config),
        format=format,
        text=method.text,
        max_length=model.max_length,
        scale=method.scale,
        options=options,
        vectors=sentences.recorded(vectors),
        **_lineage(config, train, validation),
    )
    reader = Encoder(tokenizer, format, method.text, model.max_length, vectors)
    anchor_examples = reader.encode_alone([(text, False) for text in others])
    near = anchoring.of_vectors(config, anchor_examples, reader, score)
    heads = networks.head_modules(network)
    kept = [*heads, *(name for name in new if not within(name, heads))]
    adapted, manifest = _adapt(config, network, manifest, kept, lambda: examples)
    return Prepared(
        train=train,
        validation=validation,
        network=adapted,
        tokenizer=tokenizer,
        examples=examples,
        validation_examples=validation_examples,
        selection_examples=encode_all(encoder, selected)[0],
        anchor_examples=anchor_examples,
        collate=encoder.collate,
        score=score,
        kind=partial(StepWideModule if method.step_wide else CrossEntropyModule, near=near),
        head=frozenset(name for name, _ in adapted.named_parameters() if _trained(name, heads)),
        manifest=manifest,
        notes=[*notes, *validation_notes, *anchor_notes],
    )


def _causal(config: TrainConfig, train: Split, validation: Split, selected: tuple[Item, ...]) -> Prepared:
    model, method, scoring = _start(config), config.method, config.scoring
    others, notes = anchor_texts.texts(config)
    texts = [text for item in (*train.items, *validation.items) for text in item.texts]
    network, tokenizer = networks.causal(model, config.paths.cache, [*texts, *others])
    layout.bear_gradients(network)
    manifest = replace(
        causal_manifest(model, scoring, beginning(config.model, scoring, tokenizer), _method_name(config)),
        base=networks.describe(_named(config)),
        **_lineage(config, train, validation),
    )
    wording = _wording(config, train, manifest.bos)
    anatomy = dissect(network.eval())
    virtual = config.peft.tokens if config.peft.name == "prompt_tuning" else 0
    requests = RequestEncoder(tokenizer, manifest.bos, scoring.overflow, _room(network, virtual))
    encoder = StringEncoder(requests, wording, sharing=not virtual and anatomy.reason(0) is None)
    items = (train.items, validation.items, selected)
    encoded = _encoded(method, encoder, *items, others)
    longest = max(example.longest for examples in encoded for example in examples)
    if encoder.sharing and anatomy.reason(longest):
        encoder.sharing = False
        encoded = _encoded(method, encoder, *items, others)
    examples, validation_examples, selection_examples, encoded_others = encoded
    read = partial(encoder.encode_lines, [line(item, "clean", wording) for item in labelled(train.items)])
    adapted, manifest = _adapt(config, network, manifest, [], read)
    score = PromptedScorer(anatomy, virtual) if virtual else StringScorer(anatomy)
    return Prepared(
        train=train,
        validation=validation,
        network=adapted,
        tokenizer=tokenizer,
        examples=examples,
        validation_examples=validation_examples,
        selection_examples=selection_examples,
        anchor_examples=encoded_others,
        collate=encoder.collate,
        score=score,
        kind=_way(method, anchoring.of_tokens(config, encoded_others, encoder, score)),
        head=frozenset(),
        manifest=manifest,
        notes=notes,
    )


def _room(network: PreTrainedModel, virtual: int) -> int | None:
    """How many tokens of a text a network reads beside so many learnt ones; None if nothing limits them.

    Raises:
        FiglangError: No text has room.
    """
    window = positions(network.config)
    if window is None:
        return None
    if virtual >= window:
        raise FiglangError(
            f"peft.tokens={virtual} leaves no room for texts, since the network reads {window} "
            "tokens; take fewer"
        )
    return window - virtual


def _encoded(
    method: MethodConfig,
    encoder: StringEncoder,
    train: Sequence[Item],
    validation: Sequence[Item],
    selected: Sequence[Item],
    others: Sequence[str],
) -> list[list[EncodedStrings]]:
    """The training items, the validated ones, those that select and the texts of an anchor, in tokens."""

    def learnt(items: Sequence[Item]) -> list[EncodedStrings]:
        if method.name == "lm":
            return encoder.encode_lines([line(item, method.text, encoder.wording) for item in items])
        return encoder.encode_pairs(items) if method.direction == "both" else encoder.encode(items)

    validated, read_beside = encoder.encode(validation), encoder.encode_lines(others)
    return [learnt(train), validated, learnt(selected), read_beside]


def _way(method: MethodConfig, near: anchoring.Anchor | None) -> partial[ChoiceModule]:
    """How a causal model is trained."""
    if method.name == "lm":
        return partial(CausalLMModule)
    if method.anchor in ANCHORS:
        return partial(AnchoredModule)
    return partial(CrossEntropyModule, near=near)


def _wording(config: TrainConfig, train: Split, bos: str) -> Wording:
    """How a causal model's strings are worded.

    Raises:
        FiglangError: The items cannot be trained on as the method says.
    """
    method, scoring = config.method, config.scoring
    if method.text == "legacy" and any(item.cut for item in train.items):
        raise FiglangError(
            f"method.text=legacy makes two sentences of each of data={config.data.name}, which is cut at a "
            "blank; use clean"
        )
    check_alone(scoring, bos, 0)
    _check_pairs(config, train)
    wording = Wording(scoring, PromptConfig(), train.items[0].cut)
    if method.direction == "both" and not wording.has_context:
        raise FiglangError(
            f"scoring.template={scoring.template!r} leaves the metaphor out, so none can be chosen; use "
            "method.direction=forward"
        )
    return wording


def _check_pairs(config: TrainConfig, train: Split) -> None:
    if config.method.direction == "both" and not partners_of(train.items):
        raise FiglangError(
            f"data={config.data.name} has no pairs of metaphors to choose from backward; use "
            "method.direction=forward"
        )


def _adapt(
    config: TrainConfig,
    network: PreTrainedModel,
    manifest: Manifest,
    kept: list[str],
    read: Callable[[], Sequence[Any]],
) -> tuple[PreTrainedModel | PeftModel, Manifest]:
    """The network with the adapters that `peft=` asks for, and the manifest that then says what they belong
    to. `read` makes the items in tokens from which adapters may begin."""
    if config.peft.name == "none":
        if weights.has_adapters(config.model):
            network.requires_grad_(True)  # merging leaves them frozen
        return network, manifest
    model, named = _start(config), _named(config)
    if model.init == "tiny":
        base = adapters.OWN
    else:
        base = named.name_or_path if config.model.base else weights.address(named.name_or_path)
    precision, whole = layout.precision(network), replace(model, quantization="none")
    manifest = replace(manifest, base_precision=precision, base_sha256=weights_sha256(network, kept))
    given = calibrated.Given(
        lambda: calibrated.drawn(read(), config.seed),
        (lambda: networks.causal(whole, config.paths.cache)[0]) if precision.endswith("4bit") else None,
    )
    adapted = lora.adapt(network, config.peft, kept, base, named.revision, given)
    if continues(config):
        weights.resume(adapted, config.model, manifest.format, manifest.base_sha256)
    return adapted, manifest


def line(item: Item, text: str, wording: Wording) -> str:
    """The training text of an item under method=lm."""
    assert item.gold is not None, "training items have labels"
    answer = item.options[item.gold]
    # Python's capitalize lowers all other letters. No space stands between the sentences.
    if text == "legacy":
        return f"{item.context.rstrip(',.! ').capitalize()}.{answer.replace('.', '').strip().capitalize()}."
    return "".join(wording.of(item).span("", item.context, answer))


def _lineage(config: TrainConfig, train: Split, validation: Split) -> dict[str, Any]:
    """The data sets on which a network was trained, in their order, and the hashes of the settings."""
    before, settings = ancestry(config.model), digest(recipe_of(config, train, validation))
    trained_on = config.data.name + (f"({train.drawn})" if _drawn(config.data) else "")
    return {
        "trained_on": trained_on if before is None else f"{before.trained_on}>{trained_on}",
        "settings": settings,
        "seed": config.seed,
    }


def _drawn(data: DataConfig) -> bool:
    """Whether settings beside the name of the data say which items are trained on."""
    return bool(data.mix or data.fold or data.recombined)


def _method_name(config: TrainConfig) -> str:
    name = config.method.name + ("" if config.method.anchor == "none" else "-anchored")
    return name if config.peft.name == "none" else f"{name}+{config.peft.name}"


def _trained(name: str, heads: list[str]) -> bool:
    # PEFT trains a copy of the head and keeps the original, frozen, beside it.
    return "original_module" not in name and within(name, heads)
