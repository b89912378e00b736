"""The options of `models`."""

from dataclasses import dataclass

from figlang.config.section import Command, option


@dataclass
class ModelsConfig(Command):
    """List the presets of model=: kind, size, where the weights come from, and whether they are on this
    machine."""

    kind: str | None = option(
        None,
        "Show models of this kind only. null: all kinds.",
        ("causal", "encoder", "NLI", "sentence encoder", "served"),
    )
