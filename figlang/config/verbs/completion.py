"""The options of `completion`."""

from dataclasses import dataclass

from figlang.config.section import Command, option
from figlang.errors import FiglangError


@dataclass
class CompletionConfig(Command):
    """Print the script that lets a shell complete verbs, groups, options and fields by the tab key. For bash,
    put the line `eval "$(figlang completion bash)"` into ~/.bashrc; for zsh, the same with zsh into ~/.zshrc
    below the line with compinit."""

    shell: str = option(
        "", "The shell: bash or zsh. A word without `=` is taken as shell.", ("", "bash", "zsh")
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.shell:
            raise FiglangError("name the shell: figlang completion bash, or figlang completion zsh")
