"""Keys and passwords stay out of everything that is written or said."""

import html
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import lru_cache
from types import TracebackType
from typing import Any

# Names under which the environment carries secrets: WANDB_API_KEY, HF_TOKEN, AWS_SECRET_ACCESS_KEY …
_NAMES = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$")
SHORTEST = 8  # shorter values would be found in innocent words
# An address, also one in which a path has folded the slashes; a colon and digits is a port.
_SCHEME = r"(?<![\w+.-])(?!file:)[A-Za-z][\w+.-]{1,30}:/{1,3}"
# A quotation mark that a comma, colon or bracket follows ends a text of JSON, and is not a part of the
# password.
_PASSWORD = re.compile(
    rf"({_SCHEME})[^/\s:@]{{0,99}}:(?!\d+/)(?:[^\s@\x22]|\\\x22|\x22(?![,:}}\]]))*(?:@[^\s/@\x22'<>]*)*@"
)
_TOKEN = re.compile(rf"({_SCHEME})[^\s/@\x22'<>?#\\]+@")
_ADDRESS = re.compile(rf"{_SCHEME}(?:\\.|[^\s\x22'<>\\])+")
_PARAMETER = re.compile(
    r"((?:[?&#;]|%3F|%26|u0026)(?:[\w.-]{0,40}[_.-])?(?:(?:access|auth|api|id|refresh|secret|sas|private)?(?:token|key)|secret|"
    r"pass(?:word|wd)?|pwd|sig(?:nature)?|credential|auth(?:orization)?)=)(?:(?!&|%26|\\u0026)[^#\s])+",
    flags=re.IGNORECASE,
)
# Keys that tell by themselves what they are: OpenAI, Hugging Face, GitHub, GitLab, AWS, Slack.
_KEYS = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{20,}|hf_[A-Za-z0-9]{30,}|gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{22,}|glpat-[\w-]{20,}|"
    r"AKIA[0-9A-Z]{16}|xox[abprs]-[\w-]{10,})"
)
_variables: set[str] = set()  # that settings name
_values: dict[str, str] = {}  # that settings hold, and what they are


def hide_variable(name: str) -> None:
    """Have the value of an environment variable taken out from now on, whatever its name is."""
    _variables.add(name)


def hide(value: str, what: str) -> None:
    """Have a value taken out from now on; in its place stands what it is."""
    _values[value] = what


def redacted(text: str) -> str:
    """The text with secrets replaced by what they are.

    Taken out are values of environment variables that are secret by their name or named by a setting,
    passwords, user names and parameters such as `token=` of addresses, and keys of well-known forms. Values
    are found however they are quoted: for JSON, a shell, an address, HTML, LaTeX, Markdown or CSV.
    """
    return redactor()(text)


def redactor() -> Callable[[str], str]:
    """`redacted` for many texts, with the secrets of this moment."""
    found = {
        value: name for name, value in os.environ.items() if _NAMES.search(name.upper()) or name in _variables
    } | _values
    secrets = tuple(
        (value, found[value]) for value in sorted(found, key=len, reverse=True) if len(value) >= SHORTEST
    )
    return _redactor(secrets)


@lru_cache(maxsize=8)
def _redactor(secrets: tuple[tuple[str, str], ...]) -> Callable[[str], str]:
    known = [(re.compile("".join(map(_quoted, value))), f"<{what}>") for value, what in secrets]

    def clean(text: str) -> str:
        for pattern, what in known:
            text = pattern.sub(what, text)
        if ":/" in text:
            text = _TOKEN.sub(r"\1<password>@", _PASSWORD.sub(r"\1<password>@", text))
            text = _ADDRESS.sub(lambda address: _PARAMETER.sub(r"\1<secret>", address[0]), text)
        return _KEYS.sub("<key>", text)

    return clean


def _quoted(character: str) -> str:
    """What matches a character of a secret in every way of quoting."""
    if character.isascii() and character.isalnum():
        return character
    if character == "\\":
        return r"(?:(?:\\\\)+|\\|\\textbackslash(?:\{\})?|%5[Cc])"
    forms = {
        re.escape(character),
        re.escape(html.escape(character)),
        rf"&#(?:x0*{ord(character):x}|0*{ord(character)});",
    }
    forms.add("".join(f"%(?i:{byte:02x})" for byte in character.encode(errors="surrogatepass")))
    units = character.encode("utf-16-be", errors="surrogatepass")
    forms.add("".join(rf"\\u(?i:{units[place : place + 2].hex()})" for place in range(0, len(units), 2)))
    forms |= {"'": {r"'\\*\x22'\\*\x22'", r"'\\+''", "''", "&apos;"}, " ": {r"\+"}}.get(character, set())
    forms |= {r"\\text[a-z]+(?:\{\})?", rf"\${re.escape(character)}\$"} if character.isascii() else set()
    quoted = rf"\\*(?:{'|'.join(sorted(forms, key=len, reverse=True))})"
    # A table doubles it; behind a backslash the second one would be another.
    return rf"(?:\\+\x22|\x22\x22|{quoted})" if character == '"' else quoted


def redacted_values(content: Any) -> Any:
    """The same for every text in dictionaries and lists."""
    if isinstance(content, Mapping):
        return {redacted_values(key): redacted_values(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [redacted_values(value) for value in content]
    return redacted(content) if isinstance(content, str) else content


class _Redacting:
    """A stream that writes texts without secrets and is in everything else the one below it."""

    def __init__(self, below: Any) -> None:
        self._below = below

    def write(self, text: str) -> int:
        self._below.write(redacted(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._below, name)

    def __setattr__(self, name: str, value: Any) -> None:
        # W&B's client puts a function of its own there to hear what is written.
        super().__setattr__(name, (lambda text: value(redacted(text))) if name == "write" else value)


def _tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sys.stderr.write(redacted("".join(traceback.format_exception(kind, error, trace))))


@contextmanager
def nothing_secret_said() -> Iterator[None]:
    """Take secrets out of all that is printed: messages, tables, warnings of libraries, the traceback of what
    leaves this."""
    sys.excepthook = _tell
    with redirect_stdout(_Redacting(sys.stdout)), redirect_stderr(_Redacting(sys.stderr)):  # type: ignore[type-var]
        yield


@contextmanager
def arguments_without_secrets() -> Iterator[None]:
    """For libraries that keep the command line."""
    given = sys.argv
    sys.argv = [redacted(word) for word in given]
    try:
        yield
    finally:
        sys.argv = given
