"""Parts of speech of marked words (universal tags: NOUN, VERB, ADJ, ADV …): from a table, otherwise from a
tagger. MUNCH's files do not have them, but its Tables 1 and 12 need them.
"""

from collections.abc import Iterable
from pathlib import Path

from figlang.errors import FiglangError, one_line
from figlang.files.rows import Problems, read_tabs
from figlang.types import Marked


def from_table(path: Path, words: dict[str, str], strict: bool) -> tuple[dict[str, str], list[str]]:
    """Tags by idx from a tab-separated file with the columns idx, target and upos; an empty upos is unknown.

    `words` are the targets by idx. A row about another word is left out with a note.
    """
    problems = Problems(path, strict)
    tags = {}
    for number, row in read_tabs(path, ("idx", "target", "upos"), problems):
        if row["idx"] in words and words[row["idx"]] != row["target"]:
            problems.add(
                number,
                f"target {row['target']!r} is {words[row['idx']]!r} in the sentence, row left out",
                "tag the same release",
            )
        elif row["upos"].strip():
            tags[row["idx"]] = row["upos"].strip()
    return tags, problems.found


def tagged(items: Iterable[Marked], pipeline: str) -> Iterable[str]:
    """Tags from a spaCy pipeline (a name or folder). If a target has several tokens, the longest gives the
    tag.

    Raises FiglangError if spaCy (extra `figlang[tagger]`) or the pipeline is not installed, or does not tag.
    """
    try:
        import spacy
    except ImportError as error:
        raise FiglangError(f"data.tagger={pipeline} needs spaCy; `pip install 'figlang[tagger]'`") from error
    try:
        read = spacy.load(pipeline)
    except OSError as error:
        raise FiglangError(
            f"no spaCy pipeline {pipeline!r} ({one_line(error)}); `python -m spacy download en_core_web_sm`"
        ) from error
    chosen = list(items)
    for item, document in zip(chosen, read.pipe(item.context for item in chosen), strict=True):
        span = document.char_span(*item.target, alignment_mode="expand")
        tag = "" if span is None else max(span, key=len).pos_
        if not tag:
            raise FiglangError(
                f"the spaCy pipeline {pipeline!r} gives no part of speech; use en_core_web_sm or another "
                "tagger"
            )
        yield tag
