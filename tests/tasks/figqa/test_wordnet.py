"""WordNet that is not there is missed without NLTK, which takes a second to import. Needs the extra
`analysis`."""

import os
import sys
from pathlib import Path

import pytest

from figlang.tasks.figqa import wordnet
from tests.needing import needs
from tests.running import python

needs("nltk", "needs figlang[analysis]")

MISSED = """
import sys
from pathlib import Path
from figlang.errors import FiglangError
from figlang.tasks.figqa import wordnet
places, wordnet._places, wordnet.DEBIAN = wordnet._places, lambda: [Path("none")], Path("none")
try:
    wordnet.reader(Path("cache"))
except FiglangError as error:
    print(error)
print({"nltk", "sklearn", "pandas"} & set(sys.modules))
import nltk
print(set(nltk.data.path) - set(map(str, places())))
"""


def test_wordnet_that_no_folder_of_nltk_has_is_missed_without_nltk(tmp_path: Path) -> None:
    ended = python(tmp_path, "-c", MISSED, NLTK_DATA=os.pathsep.join(["~/mine", "", str(tmp_path)]))
    error, imported, forgotten = ended.stdout.splitlines()
    assert error == f"WordNet is not installed; {wordnet.INSTALL}"
    assert (imported, forgotten) == ("set()", "set()")


@pytest.mark.parametrize("name", ["corpora/wordnet/data.noun", "corpora/wordnet.zip", "corpora.zip"])
def test_nltk_is_asked_if_wordnet_may_be_there(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "nltk", raising=False)
    monkeypatch.setattr(wordnet, "_places", lambda: [tmp_path / "other", tmp_path])
    assert wordnet._surely_absent()
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).touch()
    assert not wordnet._surely_absent()


def test_nltk_is_asked_for_folders_that_are_archives_or_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wordnet, "_places", lambda: [tmp_path / "data.zip"])
    monkeypatch.delitem(sys.modules, "nltk", raising=False)
    assert not wordnet._surely_absent()
    monkeypatch.setattr(wordnet, "_places", lambda: [tmp_path])
    assert wordnet._surely_absent()
    monkeypatch.setitem(sys.modules, "nltk", wordnet)  # its path may have been changed
    assert not wordnet._surely_absent()
