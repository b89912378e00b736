"""Models on disk with settings and edits of their files, each of which may change a prediction."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from figlang.types import Item

PAIRS = (
    Item("a", "p", "The room was an oven", ("it was hot.", "It was cold."), 0),
    Item("b", "p", "The room was a cellar", ("it was hot.", "It was cold."), 1),
    Item(
        "c", "q", "His plan was a long road that wound on and on", ("It took days.", "It was over soon."), 0
    ),
    Item("d", "q", "His plan was a short hop", ("It took days.", "It was over soon."), 1),
)
QUESTIONS = (
    Item(
        "e",
        "r",
        "the room is an oven",
        ("the room is hot", "the room has a door"),
        0,
        {"question": ("implies",)},
    ),
    Item("f", "s", "he is a fox", ("he is sly", "he is red"), 0, {"question": ("implies",)}),
    Item(
        "g", "t", "the road is a snake", ("the road winds", "the road hisses"), 0, {"question": ("implies",)}
    ),
)
SWAPPED = ("neutral", "entailment", "contradiction")
CHAT = "{% for message in messages %}{{ message['content'] }}{% endfor %}"

Edit = Callable[[Path], None]


@dataclass(frozen=True)
class World:
    """A kind of evaluation: its settings, its items, the values that each setting takes in turn, and edits of
    the model's files.

    All is done once more with each of `also` on top.
    """

    settings: Mapping[str, Any]
    items: tuple[Item, ...]
    varied: Mapping[str, Sequence[Any]]
    edits: Mapping[str, Edit]
    also: Sequence[Mapping[str, Any]] = ()


def weights(place: Path) -> None:
    path = next(place.glob("*.safetensors"))
    tensors = load_file(path)
    name = max(tensors, key=lambda one: (tensors[one].dim(), one))
    tensors[name] = tensors[name] * 1.5
    save_file(tensors, path, {"format": "pt"})


def said(file: str, **changes: Any) -> Edit:
    def act(place: Path) -> None:
        content = json.loads((place / file).read_text()) if (place / file).is_file() else {}
        (place / file).write_text(json.dumps(content | changes))

    return act


def lower_case(place: Path) -> None:
    content = json.loads((place / "tokenizer.json").read_text())
    content["normalizer"] = {"type": "Replace", "pattern": {"String": "o"}, "content": "e"}
    (place / "tokenizer.json").write_text(json.dumps(content))


def side(name: str, value: Any) -> Edit:
    return said("tokenizer_config.json", **{name: value})


def chat_template(place: Path) -> None:
    (place / "chat_template.jinja").write_text(
        "{% for message in messages %}Q: {{ message['content'] }}{% endfor %}"
    )


TOKENIZER: dict[str, Edit] = {"its tokenizer": lower_case}
CAUSAL = {"model.family": "causal", "model.bos": "add"}
ANSWERS = {"scoring.span": "answer", "scoring.backward_span": "answer", "scoring.norm": "sum"}
PROMPT = {
    "prompt.k": (0, 1, 2),
    "prompt.seed": (1, 2),
    "prompt.separator": (" / ", "\n\n"),
}
LIKELIHOOD = World(
    {**CAUSAL, "scoring.norm": "mean", "prompt.source": "examples.txt"},
    PAIRS,
    {
        "model.bos": ("none", "7"),
        "model.dtype": ("bfloat16",),
        "model.init": ("tiny",),
        "model.architecture": ("llama",),
        "model.max_length": (8,),
        "scoring.kind": ("likelihood", "letter"),
        "scoring.text": ("raw", "gpt3"),
        "scoring.template": ("{metaphor} So {answer}", "{metaphor} {answer} So"),
        "scoring.span": ("answer",),
        "scoring.backward_span": ("answer",),
        "scoring.examples": (True,),
        "scoring.norm": ("sum", "byte"),
        "scoring.minus_alone": (True,),
        "scoring.bos": ("none", "9"),
        "scoring.overflow": ("truncate_left",),
        "prompt.suffix": ("that is, ", "So, "),
        "prompt.answer": ("lower",),
        "prompt.source": ("other.txt",),
        "prompt.per": ("item", "split"),
        "prompt.template": ("{metaphor}: {answer}",),
        **PROMPT,
    },
    {"its weights": weights, "its configuration": said("config.json", rms_norm_eps=0.5), **TOKENIZER},
    ({"prompt.k": 1}, {"prompt.suffix": "that is, "}, {"model.init": "tiny", "drawn": 1}),
)
MASKED = World(
    {"scoring.kind": "pll"},
    PAIRS,
    {
        "scoring.masking": ("within_word_l2r",),
        "scoring.norm": ("sum", "byte"),
        "scoring.span": ("answer",),
        "model.dtype": ("bfloat16",),
        "model.max_length": (8,),
        "prompt.suffix": ("that is, ",),
    },
    {"its weights": weights, "its configuration": said("config.json", layer_norm_eps=0.5), **TOKENIZER},
)
ASKED = World(
    {**CAUSAL, **ANSWERS, "prompt.question": "or"},
    QUESTIONS,
    {
        "scoring.norm": ("mean", "byte"),
        "scoring.minus_alone": (True,),
        "scoring.bos": ("none", "9"),
        "scoring.overflow": ("truncate_left",),
        "prompt.question": ("numbered", "qa", "no_choices"),
        "prompt.reply": ("number", "letter"),
        "prompt.case": ("raw", "all"),
        "prompt.layout": ("lines",),
        "prompt.template": ("{stem}? {a} or {b}?",),
        "prompt.per": ("item", "split"),
        **PROMPT,
    },
    {"its weights": weights, **TOKENIZER},
    (
        {"prompt.k": 1},
        {"prompt.question": "numbered", "prompt.reply": "letter"},
    ),
)
ASKED_MASKED = World(
    {**ANSWERS, "scoring.kind": "pll", "prompt.question": "or"},
    QUESTIONS,
    {
        "scoring.masking": ("within_word_l2r",),
        "scoring.norm": ("mean", "byte"),
        "prompt.case": ("raw", "all"),
    },
    {"its weights": weights, **TOKENIZER},
)
LETTERS = World(
    {**CAUSAL, "scoring.kind": "letter", "scoring.max_tokens": 3},
    PAIRS,
    {
        "scoring.orders": ("drawn",),
        "scoring.max_tokens": (1, 6),
        "prompt.question": ("meaning",),
        "prompt.template": ("{metaphor}: {a}/{b}?",),
        "model.dtype": ("bfloat16",),
    },
    {
        "its weights": weights,
        "its chat template": chat_template,
        "the end of its replies": said("generation_config.json", eos_token_id=list(range(0, 300, 2))),
    },
)
NLI = World(
    {"scoring.kind": "nli"},
    PAIRS,
    {
        "scoring.text": ("raw", "gpt3"),
        "nli.score": ("entail", "not_contradict"),
        "nli.on": ("logits",),
        "nli.labels": (("neutral", "contradiction", "entailment"),),
        "max_length": (8,),
        "model.max_length": (10,),
    },
    {
        "its weights": weights,
        "its labels": said(
            "config.json",
            id2label=dict(enumerate(SWAPPED)),
            label2id={one: at for at, one in enumerate(SWAPPED)},
        ),
        **TOKENIZER,
    },
    ({"max_length": 8}, {"nli.on": "logits"}),
)
DUAL = World(
    {},
    PAIRS,
    {
        "model.max_length": (6,),
        "max_length": (5,),
        "model.init": ("tiny",),
        "model.architecture": ("roberta",),
    },
    {
        "its weights": weights,
        "the side it is cut on": side("truncation_side", "left"),
        "its inputs": side("model_input_names", ["input_ids", "attention_mask"]),
        **TOKENIZER,
    },
    ({"max_length": 5},),
)
ADAPTED = World(
    {"checkpoint": "adapted"},
    PAIRS,
    {"scoring.norm": ("mean", "sum"), "scoring.minus_alone": (True,), "scoring.text": ("raw",)},
    {"its adapters": weights, "its scoring": said("figlang.json", bos="none")},
)
WORLDS = {
    "likelihood": (LIKELIHOOD, "llama"),
    "masked": (MASKED, "masked"),
    "questions": (ASKED, "llama"),
    "questions, masked": (ASKED_MASKED, "masked"),
    "letters": (LETTERS, "llama"),
    "nli": (NLI, "nli"),
    "dual": (DUAL, "dual"),
    "adapters": (ADAPTED, "adapted"),
}
