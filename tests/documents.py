"""What tests read of results."""

import json
from pathlib import Path
from typing import Any


def metrics_of(folder: Path) -> dict[str, Any]:
    """The metrics.json of a folder."""
    content: dict[str, Any] = json.loads((folder / "metrics.json").read_text())
    return content
