"""Released checkpoints on the Hugging Face hub: which files go there, and their upload."""

import logging
import sys
from dataclasses import dataclass
from glob import escape
from pathlib import Path

import yaml
from huggingface_hub import HfApi, ModelCard, constants
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

from figlang.config.verbs.push import PushConfig
from figlang.errors import FiglangError, one_line
from figlang.files import stored
from figlang.files.sources import PACKAGE
from figlang.models.manifest import MANIFEST

CARD, ADAPTERS, METRICS = "README.md", "adapter_config.json", "metrics.json"


@dataclass(frozen=True)
class Upload:
    """The files and settings of an upload.

    Attributes:
        folder: The folder of the checkpoint.
        files: Its files, each as a path below the folder, in order.
        remarks: Sentences about what others may miss.
    """

    folder: Path
    files: tuple[Path, ...]
    remarks: tuple[str, ...]

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum((self.folder / file).stat().st_size for file in self.files)


def plan(config: PushConfig) -> Upload:
    """What an upload would send. Hidden files and links stay here.

    Args:
        config: Settings of the command.

    Raises:
        FiglangError: If the folder is not a released checkpoint, its card cannot be read, or the repository
            has no valid name.
    """
    folder = Path(config.folder).expanduser()
    if not all((folder / name).is_file() for name in (MANIFEST, CARD, METRICS)):
        raise FiglangError(
            f"{folder} is not a released checkpoint; make one by `figlang release run=RUN name=NAME`"
        )
    owner, _, name = config.repo.partition("/")
    try:
        validate_repo_id(config.repo)
    except HFValidationError as error:
        raise FiglangError(f"repo={config.repo} is not a name on the hub: {one_line(error)}") from error
    if not owner or not name:
        raise FiglangError(f"repo={config.repo} names no owner; give repo=OWNER/NAME")
    found = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    files = [path.relative_to(folder) for path in found]
    shown = tuple(file for file in files if not any(part.startswith(".") for part in file.parts))
    return Upload(folder, shown, tuple(_remarks(folder)))


def _remarks(folder: Path) -> list[str]:
    text = stored.text(folder / CARD, "write the card again by `figlang release name=NAME card=true`")
    try:
        card = ModelCard(text, ignore_metadata_errors=True).data
    except (ValueError, yaml.YAMLError) as error:
        raise FiglangError(
            f"the front matter of {folder / CARD} cannot be read ({one_line(error)}); write the card again "
            f"by `figlang release output={folder.parent} name={folder.name} card=true`"
        ) from error
    remarks = []
    if card.get("license") is None:
        remarks.append("the card names no licence; `figlang release name=NAME card=true licence=…` adds one")
    if (folder / ADAPTERS).is_file():
        base = stored.plain(folder / ADAPTERS, "release the run again").get("base_model_name_or_path")
        if str(base).startswith(PACKAGE):
            remarks.append(
                f"others need the package in {base} below the adapters; the card says how it is read"
            )
    return remarks


def push(config: PushConfig, upload: Upload) -> str:
    """Make the repository if there is none, and upload the files as one commit.

    Args:
        config: Settings of the command.
        upload: The files.

    Returns:
        The address of the repository.

    Raises:
        FiglangError: If the hub refuses it or cannot be reached.
    """
    import httpx2

    for library in ("httpx2", "huggingface_hub"):  # a line for each request
        logging.getLogger(library).setLevel(logging.WARNING)
    api = HfApi(endpoint=constants.ENDPOINT)
    try:
        made = api.create_repo(config.repo, private=config.private, exist_ok=True)
        api.upload_folder(
            repo_id=config.repo,
            folder_path=upload.folder,
            allow_patterns=[escape(file.as_posix()) for file in upload.files],
            commit_message=config.message,
            revision=config.branch,
        )
    except OfflineModeIsEnabled as error:
        raise FiglangError("HF_HUB_OFFLINE is set, so nothing is uploaded; unset it") from error
    except HfHubHTTPError as error:
        code = error.response.status_code
        why = error.server_message or one_line(error)
        login = "; log in by `hf auth login`, or set HF_TOKEN" if code in (401, 403) else ""
        raise FiglangError(f"the hub refuses repo={config.repo} ({code}: {why}){login}") from error
    except (RuntimeError, ValueError) as error:  # of a large file, or of the card
        if isinstance(error, RuntimeError):
            sys.stderr.write("\n")  # the bar of a file that failed does not end its line
        why = " ".join(one_line(each) for each in (error, error.__cause__) if each is not None)
        raise FiglangError(
            f"the upload to repo={config.repo} failed, and nothing was committed there ({why}); the same "
            "command uploads all files again"
        ) from error
    except (httpx2.HTTPError, OSError) as error:
        raise FiglangError(
            f"the hub {constants.ENDPOINT} cannot be reached ({one_line(error)}); check the connection"
        ) from error
    return str(made)
