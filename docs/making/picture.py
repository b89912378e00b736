"""The picture of a report in the README: `python -m docs.making.picture`, after the page has changed.

It reports on the released checkpoints and takes a picture of the top of the page with chromium.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from docs.making.rows import ROOT
from figlang.errors import FiglangError

PICTURE = ROOT / "docs" / "images" / "report.png"
SHOWN = ("mpnet-figqa-large", "smollm2-figqa-pmi", "minilm-figqa-distilled", "smollm2-figqa-large-lm")
SIZE = "1180,900"


def main() -> None:
    """Make the picture.

    Raises:
        FiglangError: There is no chromium.
    """
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise FiglangError("chromium is not installed; install it to make the picture of a report")
    with TemporaryDirectory() as folder:
        runs = [str(ROOT / "checkpoints" / name) for name in SHOWN]
        words = [sys.executable, "-m", "figlang", "report", *runs, f"output={folder}/page"]
        subprocess.run([*words, "data=figqa_large"], cwd=ROOT, check=True)
        page = Path(folder) / "page" / "report.html"
        words = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        words += [f"--window-size={SIZE}", f"--screenshot={PICTURE}", page.as_uri()]
        subprocess.run(words, check=True, timeout=120)


if __name__ == "__main__":
    main()
