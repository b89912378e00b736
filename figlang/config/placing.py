"""Names of the folders of results. Results that differ get different names."""

import re
from pathlib import Path

from figlang.config.data import DataConfig
from figlang.config.given import Given
from figlang.config.signature import digest
from figlang.config.verbs.evaluate import EvaluateConfig
from figlang.config.verbs.train import TrainConfig

LONGEST = 120
# Options that are left out of a folder's name: they change no result, or the name holds them already.
_UNNAMED = re.compile(
    r"^(data|data\.file|model|model\.name|model\.name_or_path|seed|run|resume|overwrite|skip_finished|also|blind|trainer|logger)=|^(paths|logger)\."
    r"|^model\.(endpoint|key_env|concurrency|timeout|retries|input_price|output_price|currency|max_cost|dry_run|speed|batch)="
    r"|^(checkpoint|epoch|split|name|output|table|batch_size|blind|model.allow_bin|model.trust_remote_code)=|^trainer\.(progress|threads)="
)


def place_run(config: TrainConfig, given: Given) -> None:
    """Fill in the folder of a training, in place."""
    # An interrupted multirun is started again by the same command, which then finds some of its runs
    # finished.
    config.skip_finished = config.skip_finished or given.multirun
    if config.run is None:
        folder = _folder(given, config.model.name, config.data.name) + _of_file(given, config.data)
        config.run = str(Path(config.paths.runs) / config.kept_in / folder / f"seed{config.seed}")


def place_evaluation(config: EvaluateConfig, given: Given) -> None:
    """Fill in the name of the folder of an evaluation, in place."""
    if config.name is None:
        config.name = _folder(given, config.data.name, config.kept_as or config.split)
        config.name += _of_file(given, config.data)
        if "model.name_or_path" in given.names:
            config.name += f"-{digest(config.model.name_or_path)}"  # model.name is only the end of it
        if "model.endpoint" in given.names:
            config.name += f"-{digest(config.model.endpoint)}"  # an address may hold a key
        if "seed" in given.names:
            config.name += f"-seed{config.seed}"


def _of_file(given: Given, data: DataConfig) -> str:
    """A text that tells files of one name in several folders apart."""
    return f"-{digest(data.file)}" if "data.file" in given.names else ""


def _folder(given: Given, *parts: str) -> str:
    whole = "-".join([*parts, *sorted(word for word in given.words if not _UNNAMED.match(word))])
    # Only characters that neither a shell nor Hydra's grammar reads as syntax: the folder is given back as
    # checkpoint=FOLDER.
    plain = re.sub(r"[^A-Za-z0-9._~-]+", "_", whole)
    # If more was lost than `=`, other words might get the same name.
    told_apart = len(plain) <= LONGEST and re.fullmatch(r"[A-Za-z0-9._~=-]*", whole)
    return plain if told_apart else f"{plain[:LONGEST]}-{digest(whole)}"
