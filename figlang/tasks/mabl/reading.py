"""MABL (Kabra et al. 2023, "Multi-lingual and Multi-cultural Figurative Language Understanding").

Upstream: github.com/simran-khanuja/Multilingual-Fig-QA, folder langdata, MIT. A file holds one language, with
Fig-QA's columns in any order. The English files have the rows of Fig-QA's medium training file and its dev.

Known oddities of the upstream files: 256 rows of kn.csv and 2 of hi.csv repeat an earlier row, up to spaces
and the Unicode form; up to eight rows share their endings, so neighbouring pairs are not always independent;
38 of the other rows have no partner; in three languages hardly a text has a final period, and
in su.csv each second ending has one and no first ending.
"""

from dataclasses import replace
from pathlib import Path

from figlang.files.rows import Problems
from figlang.files.sources import data_file, local_path, sha256
from figlang.tasks.figqa import rows
from figlang.types import Split

COMMIT = "faeb20b9a00ba8f002f22b4cf1930de8b1a255ad"
UPSTREAM = f"https://raw.githubusercontent.com/simran-khanuja/Multilingual-Fig-QA/{COMMIT}/langdata"
ENGLISH = "en"
LANGUAGES = {
    "hi": "Hindi",
    "id": "Indonesian",
    "jv": "Javanese",
    "kn": "Kannada",
    "su": "Sundanese",
    "sw": "Swahili",
    "yo": "Yoruba",
}
NAMES = {ENGLISH: "English", **LANGUAGES}
TRAINING = "en_train"

# stem of the file: (sha256, bytes) at COMMIT
FILES = {
    "en_train": ("24bf50ffa1f632bfd1dcd528b1b1fbc9757b42ecf59d5f3901d4f299edec2259", 152153),
    "en_dev": ("e447ec0c4af2100b87b92bd9f9211e26ddd0def98f0abeeafc7fbd3e38504804", 113795),
    "hi": ("e9f2def58df7a05cc31ed9f108ebc76327a14c5dfb92fa5cec2d8ccd2ed01e56", 253907),
    "id": ("3365b965a0a0a6e5bae5744e08e0ae634b6f36f2ddbd24a04f007fe177fc7ca3", 147147),
    "jv": ("5494be81b92f8efe985c291191514999323119bf61c76003aa041a21cfe5a3fe", 66593),
    "kn": ("1eb1e4e6b5b441f48c8412c6ee7c89307654efab7d9681c436ba2a09c7e90a09", 277626),
    "su": ("b554755f164f026d1f41526f824f372a363b00ebeb013687823cebd3db5e1650", 68147),
    "sw": ("03cea4f39f6e7fc1f2128b45883aeebb6109973124bf6bcfa6cf6171eaa9ed58", 102967),
    "yo": ("4a524962174b36a4f2a2d8a8ced86e2de641808c0d717cbaf1b5cf4e044ce3ef", 106335),
}


def load(stem: str, root: str | None, cache: str, strict: bool, distinct: bool) -> Split:
    """One file of the published data set.

    Args:
        stem: A key of `FILES`.
        root: The folder that holds the data sets, or None to download the file.
        cache: The folder for downloads.
        strict: Refuse rows with problems. The published files have known ones, so this is for other files.
        distinct: Leave out rows that repeat an earlier row of the file.

    Returns:
        The items. The attribute `language` has the English name of the language.

    Raises:
        FiglangError: The file is missing, or none of its rows can be used.
    """
    digest, size = FILES[stem]
    folder = None if root is None else str(local_path(root) / "mabl")
    path = data_file(f"{stem}.csv", folder, f"{UPSTREAM}/{stem}.csv", digest, f"{cache}/mabl", size)
    return read(path, NAMES[stem.partition("_")[0]], strict and sha256(path) != digest, distinct)


def read(path: Path, language: str, strict: bool = False, distinct: bool = True) -> Split:
    """Items of a file in MABL's form. Arguments and errors are those of `load`."""
    problems = Problems(path, strict)
    found = rows.items(rows.usable(path, problems, distinct), problems)
    attributes = {"language": (language,)}
    items = tuple(replace(item, attributes=attributes) for item in found)
    if not items:
        raise problems.nothing_usable("add rows below the header")
    return Split(path.stem, items, str(path), sha256(path), tuple(problems.found))
