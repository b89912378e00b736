"""The options of `judge`."""

from dataclasses import dataclass, field

from figlang.config.groups.method import MethodConfig
from figlang.config.groups.model import ModelConfig
from figlang.config.groups.trainer import PathsConfig, TrainerConfig
from figlang.config.section import COUNT, SEED, Command, option, words
from figlang.errors import FiglangError


@dataclass
class JudgeConfig(Command):
    """Let a model rate the answers on a sheet by a rubric, and compare it with people's ratings. Without
    people's ratings the numbers are a judge's."""

    folder: str = option(
        "runs/ratings", "Folder of a sheet, from `figlang generate` or `figlang rate`. Judges are kept in it."
    )
    ratings: list[str] = words("Sheets that people filled in, one for each rater. A random part is enough.")
    model: ModelConfig | None = None
    # Presets of encoders set it.
    method: MethodConfig = field(default_factory=MethodConfig)
    checkpoint: str | None = option(None, "A run, a checkpoint or a hub id as the judge, in place of model=.")
    name: str | None = option(None, "Name of the judge. null: the model's name.")
    ask: str = option(
        "auto",
        "words: compare the probabilities of the scale's words. reply: read the word in a reply. auto: words "
        "of a model that is here, a reply of a served model.",
        ("auto", "words", "reply"),
    )
    chat: str = option(
        "auto",
        "ask=words: put the question in the tokenizer's chat template, or not. auto: if there is one.",
        ("auto", "template", "none"),
    )
    orders: str = option(
        "both",
        "both: ask twice, with the words of the scale in both orders, and take the mean. one: ask once.",
        ("both", "one"),
    )
    prior: str = option(
        "kept",
        "ask=words: removed subtracts the mean log-probability of each word over all answers, for judges who "
        "say one word to everything. The judge is not asked again.",
        ("kept", "removed"),
    )
    max_tokens: int = option(256, "ask=reply: longest reply in tokens, with reasoning.", within=COUNT)
    references: str | None = option(
        None,
        "CSV file with the columns reference and item or prompt, for chrF and encoders. null: an answer is "
        "compared with its question.",
    )
    chrf: bool = option(True, "Also measure chrF, by the package sacrebleu.")
    batch_size: int = option(64, "Answers that an encoder reads at a time.", within=COUNT)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)
    overwrite: bool = option(False, "Replace this judge's ratings that were made with other settings.")
    seed: int = option(0, "Seed of the libraries.", within=SEED)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model is not None and self.checkpoint is not None:
            raise FiglangError("checkpoint= brings its own model; leave model= out")
