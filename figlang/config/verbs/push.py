"""The options of `push`."""

from dataclasses import dataclass

from figlang.config.section import Command, option
from figlang.errors import FiglangError


@dataclass
class PushConfig(Command):
    """List the files of a released checkpoint and, with dry_run=false, upload them to the Hugging Face hub.
    The hub's token is that of `hf auth login` or HF_TOKEN; HF_ENDPOINT names another hub."""

    folder: str = option(
        "", "Folder of a checkpoint that `figlang release` wrote. A word without `=` is taken as folder."
    )
    repo: str = option("", "Repository on the hub: OWNER/NAME. It is made if it does not exist.")
    dry_run: bool = option(True, "Only list what would be uploaded. false: upload it.")
    private: bool = option(True, "Make a new repository private. An existing one stays as it is.")
    branch: str = option("main", "Branch of the repository.")
    message: str = option("Upload by figlang", "Message of the commit.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.folder or not self.repo:
            raise FiglangError("give a folder and a repository: figlang push FOLDER repo=OWNER/NAME")
