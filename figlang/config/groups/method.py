"""The group method: how a network is trained."""

from dataclasses import dataclass

from figlang.config.section import AMOUNT, COUNT, POSITIVE, SHARE, Range, Section, option


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
        "Causal models with contrastive. both: also choose the metaphor of a pair for a given answer.",
        ("forward", "both"),
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
    scale: float = option(20.0, "dual: factor on the cosine similarity.", within=POSITIVE)
    share_texts: bool = option(
        True,
        "dual: the items of a pair are in the same step, and a text that several items of a step have is "
        "read once, with one dropout for all of them. false: items are shuffled one by one, and each reads "
        "its own texts.",
    )
    lr: float = option(2e-5, "Peak learning rate of AdamW.", within=POSITIVE)
    epochs: int = option(8, "Passes over the training items.", within=COUNT)
    batch_size: int = option(8, "Items per optimizer step.", within=COUNT)
    max_tokens: int | None = option(
        None,
        "Largest number of tokens in a batch, with padding. A batch of long items has fewer than batch_size.",
        within=COUNT,
    )
    weight_decay: float = option(0.0, "Weight decay of AdamW.", within=AMOUNT)
    layer_decay: float = option(
        1.0,
        "Each layer's learning rate is this share of the rate of the layer above. The top layer and the "
        "head use lr.",
        within=Range(above=0, most=1),
    )
    warmup: float = option(
        0.1,
        "Share of the steps in which the learning rate rises. It falls linearly afterwards.",
        within=SHARE,
    )
    clip: float = option(
        1.0, "Largest norm of the gradient. Larger gradients are scaled down.", within=POSITIVE
    )
