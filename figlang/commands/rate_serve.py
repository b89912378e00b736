"""Serve a page on which several people rate: `runs=[a,b] raters=[ann,ben]`.

With `data=NAME`, people choose an option of each item, or write paraphrases (`ask=paraphrase`).
It listens on this machine only, unless `host` says otherwise.
"""

from pathlib import Path

from rich.console import Console

from figlang.config import RateServeConfig
from figlang.config.entry import entry
from figlang.rating.serving import running


@entry("rate serve")
def main(config: RateServeConfig) -> None:
    (running.export if config.export else running.serve)(Path(config.folder), config, Console())


if __name__ == "__main__":
    main()
