"""WinoGrande as a task."""

from figlang.config import DataConfig, PathsConfig
from figlang.tasks.task import Task
from figlang.tasks.winogrande import reading
from figlang.types import Split


class WinoGrande(Task):
    name = "winogrande"
    title = "WinoGrande"
    hub: tuple[str, ...] = (reading.HUB,)
    languages: tuple[str, ...] = ("en",)
    sizes = tuple(reading.SIZES)
    mixed_as = "both"

    def load(self, split: str, data: DataConfig, paths: PathsConfig) -> Split:
        return reading.load(split, data.size, data.root or paths.data, data.strict)
