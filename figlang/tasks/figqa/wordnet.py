"""WordNet 3.0 by NLTK, from NLTK's own data or from Debian's package wordnet-base."""

import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from figlang.errors import FiglangError

DEBIAN = Path("/usr/share/wordnet")
INSTALL = "install it by `python -m nltk.downloader wordnet` or, on Debian, `apt-get install wordnet-base`"
# Penn Treebank tags by their first letter; a word with another tag is looked up in all parts of speech.
POS = {"N": "n", "V": "v", "J": "a", "R": "r"}
# Lexicographer files in WordNet's order (lexnames(5)), which Debian leaves out and NLTK insists on.
LEXNAMES = (
    "adj.all adj.pert adv.all noun.Tops noun.act noun.animal noun.artifact noun.attribute noun.body "
    "noun.cognition "
    "noun.communication noun.event noun.feeling noun.food noun.group noun.location noun.motive noun.object "
    "noun.person "
    "noun.phenomenon noun.plant noun.possession noun.process noun.quantity noun.relation noun.shape "
    "noun.state noun.substance "
    "noun.time verb.body verb.change verb.cognition verb.communication verb.competition verb.consumption "
    "verb.contact "
    "verb.creation verb.emotion verb.motion verb.perception verb.possession verb.social verb.stative "
    "verb.weather adj.ppl"
)
FOLDERS = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}


@cache
def reader(folder: Path) -> Any:
    """NLTK's reader. `folder` is where copies of Debian's files (30 MB) are kept.

    Raises FiglangError that says what to install.
    """
    if not (DEBIAN / "data.noun").is_file() and _surely_absent():
        raise FiglangError(f"WordNet is not installed; {INSTALL}")
    try:
        import nltk
        from nltk.corpus import wordnet
    except ImportError as error:
        raise FiglangError("linguistic analyses need NLTK; pip install 'figlang[analysis]'") from error
    if not any(_found(nltk.data, name) for name in ("corpora/wordnet", "corpora/wordnet.zip")):
        if not (DEBIAN / "data.noun").is_file():
            raise FiglangError(f"WordNet is not installed; {INSTALL}")
        _copy(folder / "corpora" / "wordnet")
        nltk.data.path.append(str(folder))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The multilingual functions are not available")
        wordnet.ensure_loaded()
    return wordnet


def _surely_absent() -> bool:
    """Whether NLTK, which is installed, would not find WordNet in its folders.

    NLTK takes a second to import, with scikit-learn, pandas and more. False if only NLTK can say it.
    """
    if "nltk" in sys.modules or os.name != "posix" or find_spec("nltk") is None:
        return False
    held = ("corpora/wordnet", "corpora/wordnet.zip", "corpora.zip")
    return not any(
        place.suffix == ".zip" or any(os.path.lexists(place / name) for name in held) for place in _places()
    )


def _places() -> Iterator[Path]:
    """The folders of `nltk.data.path` on Unix."""
    named = filter(None, os.environ.get("NLTK_DATA", "").split(os.pathsep))
    for one in (*named, "~/nltk_data"):
        yield Path(os.path.expanduser(one))  # noqa: PTH111 - pathlib's raises if there is no such home
    for above in (sys.prefix, f"{sys.prefix}/share", f"{sys.prefix}/lib"):
        yield Path(above) / "nltk_data"
    for above in ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib"):
        yield Path(above) / "nltk_data"


def _found(library: Any, name: str) -> bool:
    try:
        library.find(name)
    except LookupError:
        return False
    return True


def _copy(folder: Path) -> None:
    """Copy Debian's files, and add the ones that NLTK needs. NLTK opens only files below its own folders, so
    links would not work."""
    if (folder / "lexnames").is_file():
        return
    folder.mkdir(parents=True, exist_ok=True)
    for file in filter(Path.is_file, DEBIAN.iterdir()):
        shutil.copyfile(file, folder / file.name)
    lines = [
        f"{number:02d}\t{name}\t{FOLDERS[name.partition('.')[0]]}\n"
        for number, name in enumerate(LEXNAMES.split())
    ]
    (folder / "index.sense").touch()  # maps to other versions of WordNet, for other languages
    (folder / "lexnames").write_text("".join(lines))  # last: the folder is then complete


def hypernyms(wordnet: Any, word: str, tag: str) -> tuple[str, ...]:
    """Direct hypernyms (for example `adult.n.01`) of the first synset of a word with this Penn Treebank tag,
    as in the paper."""
    synsets = wordnet.synsets(word, POS.get(tag[:1]))
    # Sorted, since NLTK's order changes from process to process.
    return tuple(sorted(parent.name() for parent in synsets[0].hypernyms())) if synsets else ()
