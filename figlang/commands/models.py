"""List models by kind and size, and whether they are here: `kind=causal`."""

import sys

from figlang.config.entry import entry
from figlang.config.presets import CONF
from figlang.config.verbs.models import ModelsConfig
from figlang.models import listing


@entry("models")
def main(config: ModelsConfig) -> None:
    sys.stdout.write(listing.text(CONF / "model", config.kind))


if __name__ == "__main__":
    main()
