"""The pool of examples: the items or the file that `prompt.source` names."""

from dataclasses import replace
from pathlib import Path

from figlang.config import DataConfig, PathsConfig, PromptConfig
from figlang.errors import FiglangError, one_line
from figlang.files.sources import sha256
from figlang.tasks import registry
from figlang.tasks.examples import Pool


def pool(prompt: PromptConfig, data_config: DataConfig, paths: PathsConfig) -> Pool:
    """The pool that a prompt draws from; an empty one for k = 0.

    Raises FiglangError if the file cannot be read.
    """
    if not prompt.k:
        return Pool()
    task = registry.task(data_config.dataset)
    # The whole split: data.limit and data.fold are about the items that are evaluated, and change no example.
    whole = replace(data_config, limit=None, fold=None)
    if task.examples != "train":
        if prompt.source != "train":
            raise FiglangError(
                f"prompt.source={prompt.source} is not for {task.title}, whose examples are its other rows; "
                "leave it out"
            )
        split = registry.load(task.examples, whole, paths)
        return Pool(split.items, f"other rows@{split.sha256[:8]}")
    if prompt.source == "train":
        split = registry.load("train", whole, paths)
        return Pool(tuple(item for item in split.items if item.gold is not None), f"train@{split.sha256[:8]}")
    path = Path(prompt.source).expanduser()
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FiglangError(
            f"prompt.source={path} cannot be read ({one_line(error)}); give train or a UTF-8 text file"
        ) from error
    lines = tuple(line.strip() for line in text.splitlines() if line.strip())
    return Pool(lines, f"{path.name}@{sha256(path)[:8]}")
