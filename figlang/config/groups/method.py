"""The group method: how a network is trained."""

import re
from dataclasses import dataclass

from figlang.config.presets import DEFAULTS
from figlang.config.section import AMOUNT, COUNT, POSITIVE, SHARE, Range, Section, option, words
from figlang.errors import FiglangError

OPTIMIZERS = ("adamw", "adamw_8bit", "adamw_8bit_paged", "lion", "muon", "schedule_free")


@dataclass
class MethodConfig(Section):
    name: str = option(
        "contrastive",
        "contrastive: cross-entropy over the scores of the options. lm: language-model loss on the gold "
        "strings. nli: a classifier of premises and hypotheses.",
        ("contrastive", "lm", "nli"),
    )
    format: str = option(
        "pair",
        "Encoders. pair: one sequence for each option. joint: one sequence with all options. dual: context "
        "and options are encoded separately.",
        ("pair", "joint", "dual"),
    )
    text: str = option(
        "clean",
        "Encoders. clean: one final period and an upper-case first letter. raw: as in the file. Causal "
        "models train on the strings of scoring=, and know legacy: with lm, no space between the sentences, "
        "as in the authors' training code.",
        ("clean", "raw", "legacy"),
    )
    direction: str = option(
        "forward",
        "Causal models and dual encoders with contrastive. both: also choose the metaphor of a pair for a "
        "given answer.",
        ("forward", "both"),
    )
    negatives: str = option(
        "options",
        "dual: the answers that a right one is compared with. options: those of its own item. batch: a "
        "second term of the loss compares it with all answers of the step. With direction=both, the "
        "metaphors of the step are compared too.",
        ("options", "batch"),
    )
    negatives_weight: float = option(
        1.0, "negatives=batch: weight of the second term beside the loss over the options.", within=AMOUNT
    )
    anchor: str = option(
        "none",
        "contrastive: a second term of the loss that keeps what the network knew. For causal models, in nats "
        "per token: lm is the language-modelling loss of right answers. positive is how far they have fallen "
        "below what they had before the training. kl is how far the network has moved from its base "
        "(Kullback-Leibler divergence of the next tokens) on texts of anchor_data. For dual: vectors is how "
        "far the vectors of texts of anchor_data have turned from those of the base (1 less the cosine).",
        ("none", "lm", "positive", "kl", "vectors"),
    )
    anchor_weight: float = option(1.0, "Weight of the anchor beside the contrastive loss.", within=AMOUNT)
    anchor_data: str = option(
        DEFAULTS.anchored,
        "anchor=kl and vectors: preset of data= whose training items, with their right answers, are read.",
    )
    anchor_texts: int = option(
        8, "anchor=kl and vectors: number of its texts that are read at each step.", within=COUNT
    )
    selection: str = option(
        "none",
        "The epoch that is exported. none: the last. heldout: the one with the smallest loss on training "
        "pairs that are held out. validation: the one with the smallest loss on the validation split; its "
        "accuracy is then optimistic.",
        ("none", "heldout", "validation"),
    )
    held_out: float = option(
        0.1, "Share of the training pairs that selection=heldout holds out.", within=Range(above=0, below=1)
    )
    patience: int = option(
        1,
        "With a selection: number of epochs without improvement after which the training stops.",
        within=COUNT,
    )
    scale: float = option(
        20.0,
        "dual: factor on the cosine similarity. A larger one makes the probabilities of options more "
        "extreme.",
        within=POSITIVE,
    )
    share_texts: bool = option(
        True,
        "dual: the items of a pair are in the same step, and a text that several items of a step have is "
        "read once, with one dropout for all of them. false: items are shuffled one by one, and each reads "
        "its own texts.",
    )
    lr: float = option(2e-5, "Peak learning rate.", within=POSITIVE)
    epochs: int = option(8, "Passes over the training items.", within=COUNT)
    batch_size: int = option(
        8,
        "Items per optimizer step, or auto: the preset's number, read in parts if the memory is not enough "
        "(accumulate=auto).",
        within=COUNT,
    )
    max_tokens: int | None = option(
        None,
        "Largest number of tokens in a batch, with padding. A batch of long items has fewer than batch_size.",
        within=COUNT,
    )
    accumulate: str = option(
        "1",
        "Parts into which the items of a step are cut. The network reads one part at a time, and the "
        "optimizer steps once. More parts need less memory and give the same loss and gradient, apart from "
        "dropout. At most batch_size. auto: 1, and twice as many each time that the memory is not enough, or "
        "always 1 where all items of a step are compared (direction=both, negatives=batch and "
        "similarity_weight of dual). method.batch_size=auto means the same.",
    )
    checkpointing: bool | None = option(
        False,
        "Compute the activations of a layer again when its gradient is needed, and do not keep them. A step "
        "takes about a third longer and needs much less memory. null: where the network can.",
    )
    optimizer: str = option(
        "adamw",
        "adamw: AdamW of torch. adamw_8bit, adamw_8bit_paged: AdamW of bitsandbytes, with its moments in 8 "
        "bits (figlang[large]). lion, schedule_free: figlang[optimizers]. muon: Muon for the matrices of "
        "layers, AdamW for the rest.",
        OPTIMIZERS,
    )
    schedule: str = option(
        "linear",
        "The learning rate after the warmup. linear, cosine: it falls to zero. constant: it stays. wsd: it "
        "stays, and falls in the last steps.",
        ("linear", "cosine", "constant", "wsd"),
    )
    decay: float = option(0.2, "wsd: share of the steps in which the learning rate falls.", within=SHARE)
    ema: float = option(
        0.0,
        "Evaluate and export a moving average of the weights, with this factor on the average at every step, "
        "for example 0.99. 0: the weights themselves.",
        within=SHARE,
    )
    label_smoothing: float = option(
        0.0,
        "Share of the target that is spread evenly over the options of an item, or over the classes of nli.",
        within=SHARE,
    )
    teacher: list[str] = words(
        "Folders of results on the training items (figlang evaluate split=train), from whose scores the "
        "model learns too. An item has the teachers that scored it; several are combined log-linearly."
    )
    teacher_model: list[str] = words(
        "Runs or released checkpoints that score the training items before the training begins, and teach "
        "like the results of method.teacher. They also score items without a label (data.recombined)."
    )
    teacher_base: str | None = option(
        None,
        "Folder of the network below the adapters of teacher_model, in place of its hub id. Teachers over a "
        "package or a folder have theirs.",
    )
    similarity_weight: float = option(
        0.0,
        "dual, with a teacher_model that names a dual encoder. Weight of a second term of the loss, which "
        "compares the similarities of all texts of a step with those by the teachers that are dual encoders.",
        within=AMOUNT,
    )
    teacher_weight: float = option(
        0.5,
        "Share of the divergence from the teachers' distribution over the options in the loss of an item. "
        "The rest is the label's.",
        within=Range(least=0, most=1),
    )
    temperature: float = option(
        1.0,
        "The scores of teachers and model are divided by it before they are compared. Above 1, options that "
        "a teacher finds unlikely count more.",
        within=POSITIVE,
    )
    r_drop: float = option(
        0.0,
        "R-Drop: items are read twice with other dropout. This is the factor on the divergence of the two "
        "distributions over the options. 0: items are read once.",
        within=AMOUNT,
    )
    kernels: str = option(
        "none",
        "liger: fused layers of liger-kernel in place of the network's own (figlang[liger], on a GPU).",
        ("none", "liger"),
    )
    l2_sp: float = option(
        0.0,
        "L2-SP: weight of the squared distance of the trained weights from where the training began, beside "
        "the loss. For LoRA it is the distance of the adapters' effect. The gradient of the term is added "
        "before clipping, and the losses that are shown are without the term.",
        within=AMOUNT,
    )
    weight_decay: float = option(
        0.0, "Weight decay: at each step, weights shrink by this times the learning rate.", within=AMOUNT
    )
    layer_decay: float = option(
        1.0,
        "Each layer's learning rate is this share of the rate of the layer above. The top layer and the "
        "head use lr.",
        within=Range(above=0, most=1),
    )
    warmup: float = option(
        0.1,
        "Share of the steps in which the learning rate rises.",
        within=SHARE,
    )
    clip: float = option(
        1.0, "Largest norm of the gradient. Larger gradients are scaled down.", within=POSITIVE
    )

    @property
    def reads_texts(self) -> bool:
        """Whether the anchor reads other texts."""
        return self.anchor in ("kl", "vectors")

    @property
    def step_wide(self) -> bool:
        """Whether an encoder's loss compares texts across the items of a step, by their labels."""
        return self.direction == "both" or (self.negatives == "batch" and self.negatives_weight > 0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.accumulate != "auto" and not re.fullmatch("[1-9][0-9]{0,8}", self.accumulate):
            raise FiglangError(f"method.accumulate={self.accumulate} must be auto or a whole number above 0")
        if self.optimizer == "schedule_free" and self.schedule != "constant":
            raise FiglangError(
                "method.optimizer=schedule_free needs no falling learning rate; add method.schedule=constant"
            )
        if self.optimizer == "schedule_free" and self.ema:
            raise FiglangError(
                "method.optimizer=schedule_free averages the weights itself; leave method.ema out"
            )
        if self.schedule == "wsd" and self.warmup + self.decay > 1:
            raise FiglangError("method.warmup and method.decay are more than all steps; lower one of them")
        for name in ("teacher", "teacher_model"):
            if getattr(self, name) and self.name != "contrastive":
                raise FiglangError(
                    f"method.{name} is for method=contrastive, which learns choices; leave it out of "
                    f"method={self.name}"
                )
        for name in ("label_smoothing", "r_drop"):
            if self.anchor != "none" and not self.reads_texts and getattr(self, name):
                raise FiglangError(
                    f"method.{name} does not go with method.anchor={self.anchor}; leave one of them out"
                )
            if self.name == "lm" and getattr(self, name):
                raise FiglangError(f"method.{name} needs options to choose from; leave it out of method=lm")
