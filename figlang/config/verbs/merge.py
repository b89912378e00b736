"""The options of `merge`."""

from dataclasses import dataclass, field

from figlang.config.data import DataConfig
from figlang.config.groups.model import ModelConfig
from figlang.config.groups.trainer import PathsConfig, TrainerConfig
from figlang.config.section import Command, option
from figlang.errors import FiglangError


@dataclass
class MergeConfig(Command):
    """Merge adapters into a plain Hugging Face folder. The scores of the validation items of data= are
    compared before and after."""

    checkpoint: str = option("", "Run folder, exported or released folder or hub id with adapters.")
    output: str = option("", "Folder of the merged network.")
    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)
    overwrite: bool = option(False, "Replace an earlier export. Your own files in its folder stay.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.checkpoint or not self.output:
            raise FiglangError(
                "give checkpoint=FOLDER, a run with adapters, and output=FOLDER for the merged network"
            )
