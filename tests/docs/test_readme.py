"""The README: short, its table made of files, its links good on a package registry's page too."""

import re

from docs.making.released import released, six
from tests.docs.blocks import DOCUMENTS, PAGES, ROOT, blocks, commands

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 150


def test_its_table_is_that_of_the_files() -> None:
    assert six() in README


def test_links_work_on_a_registry_page() -> None:
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert links
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


def test_files_that_links_name_are_there() -> None:
    for link in re.findall(
        r"https://(?:github\.com|raw\.githubusercontent\.com)/figlang/figlang/([^)\s\"]+)", README
    ):
        place = re.sub(r"^((tree|blob)/)?main/", "", link)
        assert (ROOT / place).exists(), link


def test_pages_of_the_site_that_are_named_are_there() -> None:
    assert {path.relative_to(ROOT / "docs") for path in PAGES}
    for link in re.findall(r"https://figlang\.github\.io/figlang/([\w/-]*)", README):
        page = ROOT / "docs" / f"{link.strip('/') or 'index'}.md"
        assert page.is_file() or (page.with_suffix("") / "index.md").is_file(), link


def test_the_first_screen_has_the_commands() -> None:
    assert sum(command.startswith("figlang ") for command in commands(ROOT / "README.md")) >= 4


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
