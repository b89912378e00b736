"""References name sections that the papers have, and documents that a reader of this repository can get."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Numbered sections of the three papers.
SECTIONS = {
    "Liu et al. 2022": (
        "1 2 2.1 2.2 2.3 3 3.1 3.2 4 4.1 4.2 4.3 4.4 5 5.1 5.2 6 6.1 6.2 6.3 7 7.1 7.2 7.3 7.4 8 9 9.1 "
        "9.2 9.3"
    ),
    "Comșa et al. 2022": "1 2 3 3.1 3.2 4 5 5.1 5.2 6 7 8",
    "Tong et al. 2024": "1 2 3 4 5 6 7 7.1 7.2 8 9 10 11",
}
FILES = sorted(
    path
    for pattern in (
        "figlang/**/*.py",
        "conf/**/*.yaml",
        "conf/**/*.md",
        "tests/**/*.py",
        "checkpoints/*/README.md",
        "*.md",
    )
    for path in ROOT.glob(pattern)
    if path.name != Path(__file__).name
)


def missing(text: str) -> list[str]:
    """The cited sections that their paper does not have."""
    found = []
    for paper, numbered in SECTIONS.items():
        # From the name of the paper to the end of the bracket or sentence, where another paper may be cited.
        for cited in re.findall(rf"{paper}([^);.]*(?:\.\d[^);.]*)*)", " ".join(text.split())):
            sections = re.findall(r"§ ?(\d+(?:\.\d+)?)", cited)
            found += [f"{paper}, §{section}" for section in sections if section not in numbered.split()]
    return found


def test_cited_sections_exist() -> None:
    assert missing(
        "(Liu et al. 2022, footnote 3 and\n§5.3; Tong et al. 2024, §7.1). See Liu et al. 2022, §6.2, §6.4."
    ) == [
        "Liu et al. 2022, §5.3",
        "Liu et al. 2022, §6.4",
    ]
    assert {path: found for path in FILES if (found := missing(path.read_text(encoding="utf-8")))} == {}


def test_nothing_refers_to_a_document_that_is_not_here() -> None:
    assert [path for path in FILES if re.search(r"\bSPEC\b", path.read_text(encoding="utf-8"))] == []
