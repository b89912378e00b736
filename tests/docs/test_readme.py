"""The README: short, its table made of files, its links good on a package registry's page too."""

import os
import re
import subprocess
import sys
from pathlib import Path

from docs.making.released import headline, released
from tests.docs.blocks import DOCUMENTS, ROOT, blocks, commands

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 150


def test_its_table_is_that_of_the_files() -> None:
    assert headline(readme=True) in README


def test_what_links_name_is_there() -> None:
    # setup.py makes them addresses for a registry's page.
    for document in (ROOT / "README.md", ROOT / "checkpoints" / "README.md", ROOT / "CONTRIBUTING.md"):
        links = re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text(encoding="utf-8"))
        assert links or document.name == "CONTRIBUTING.md"
        assert [link for link in links if not (document.parent / link).exists()] == [], document


def test_places_on_pages_that_links_name_are_headings() -> None:
    for document in (ROOT / "README.md", ROOT / "checkpoints" / "README.md"):
        text = document.read_text(encoding="utf-8")
        for page, place in re.findall(r"\]\((?!https?:)([^)#]+)#([^)]+)\)", text):
            named = (document.parent / page).read_text(encoding="utf-8")
            headings = re.findall(r"^#+ (.+)$", named, flags=re.MULTILINE)
            plain = [re.sub(r"[^\w -]", "", heading.lower()) for heading in headings]
            assert place in [heading.replace(" ", "-") for heading in plain]


def test_the_first_screen_has_the_commands() -> None:
    assert sum(command.startswith("figlang ") for command in commands(ROOT / "README.md")) >= 4


def test_its_python_runs(tmp_path: Path) -> None:
    # A small random network stands for the one that a package carries.
    (block,) = blocks(ROOT / "README.md", "python")
    assert sum(bool(line.strip()) for line in block.splitlines()) <= 10
    tried = block.replace('open_model("smollm2")', 'open_model("smollm2", init="tiny")').replace(
        'split="dev")', 'split="dev", limit=20)'
    )
    assert tried.count("tiny") == 1
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    words = [sys.executable, "-W", "error", "-c", tried]
    ended = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (tmp_path / "paper" / "report.html").is_file()


def test_python_blocks_are_python() -> None:
    for path in DOCUMENTS:
        for block in blocks(path, "python"):
            compile(block, str(path), "exec")


def test_the_table_of_the_checkpoints_is_that_of_their_files() -> None:
    assert released(".") in (ROOT / "checkpoints" / "README.md").read_text(encoding="utf-8")


def test_the_changelog_is_grouped() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for version in text.split("\n## ")[1:]:
        loose, *groups = version.split("\n### ")
        assert "\n- " not in loose, "a line stands under no group"
        assert {group.splitlines()[0] for group in groups} <= {"Added", "Changed", "Fixed", "Removed"}
