"""Print a script for the tab key of bash or zsh: `figlang completion bash`."""

import sys

from figlang.config.completing import script
from figlang.config.entry import entry
from figlang.config.presets import CONF
from figlang.config.verbs.completion import CompletionConfig


@entry("completion")
def main(config: CompletionConfig) -> None:
    sys.stdout.write(script(config.shell, CONF))


if __name__ == "__main__":
    main()
