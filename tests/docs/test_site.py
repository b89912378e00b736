"""The site builds without a warning, its links lead somewhere, and its search finds what people look for."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from tests.docs.blocks import ROOT
from tests.needing import needs

needs("mkdocs", "the site is built by mkdocs: pip install 'figlang[docs]'")
needs("material", "the site has a theme: pip install 'figlang[docs]'")
pytest.importorskip(
    "mkdocstrings", reason="the Python API is read by mkdocstrings: pip install 'figlang[docs]'"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


class Page(HTMLParser):
    """Links, what is loaded, and the places of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value for key, value in attrs if value}
        if "id" in given:
            self.places.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        if tag in ("script", "img", "source") and "src" in given:
            self.loaded.add(given["src"])
        if tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload", "preconnect"):
            self.loaded.add(given["href"])


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    return {
        "/" + str(path.relative_to(site)).removesuffix("index.html"): Page(path.read_text(encoding="utf-8"))
        for path in site.rglob("*.html")
        if path.name != "404.html"
    }


def test_no_link_is_dead(site: Path, pages: dict[str, Page]) -> None:
    dead = []
    for address, page in pages.items():
        for link in page.links:
            parts = urlsplit(urljoin(f"http://site{address}", link))
            if parts.netloc != "site":
                continue
            place = unquote(parts.path)
            if place in pages:
                if parts.fragment and unquote(parts.fragment) not in pages[place].places:
                    dead.append((address, link))
            elif not (site / place.lstrip("/")).exists():
                dead.append((address, link))
    assert dead == []


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[str, Page]) -> None:
    assert {source for page in pages.values() for source in page.loaded if urlsplit(source).netloc} == set()
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"url\(['\"]?https?:", styles) == []


@pytest.mark.parametrize("words", ["pair accuracy", "bos", "LoRA", "Fig-QA", "LaTeX", "SLURM"])
def test_the_search_finds(site: Path, words: str) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = [entry["location"] for entry in index["docs"] if words.lower() in entry["text"].lower()]
    titled = [entry["location"] for entry in index["docs"] if words.lower() in entry["title"].lower()]
    assert len(found) >= 2
    assert titled or words in ("bos", "LaTeX", "Fig-QA"), f"no heading says {words}"


def test_guides_come_before_results_in_the_search(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    boosts: dict[str, set[float]] = {}
    for entry in index["docs"]:
        boosts.setdefault(entry["location"].partition("/")[0], set()).add(entry.get("boost", 1))
    (middle,) = boosts["tasks"]
    assert min(boosts["start"] | boosts["guides"]) > middle > max(boosts["results"] | boosts["design"])


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("fine-tune", "guides/train"),
        ("Ollama", "guides/served-models"),
        ("out of memory", "guides/big-models"),
        ("resume", "guides/train"),
        ("offline", "start/install"),
        ("Spanish", "guides/own-data"),
    ],
)
def test_words_of_a_new_user_are_on_the_page_that_helps(site: Path, words: str, page: str) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    texts = [
        entry["title"] + entry["text"] for entry in index["docs"] if entry["location"].startswith(f"{page}/")
    ]
    assert words.lower() in " ".join(texts).lower()


def test_no_made_table_is_left_out(site: Path) -> None:
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert "{{ " not in re.sub(r"<(code|pre|script).*?</\1>", "", text, flags=re.DOTALL), path
        assert "$$" not in text, path
