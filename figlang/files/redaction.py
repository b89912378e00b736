"""Keep keys and passwords out of everything that is written or printed."""

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

# Names of environment variables that hold secrets, for example WANDB_API_KEY or AWS_SECRET_ACCESS_KEY.
_NAMES = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$")
SCRIPT = "otherscript"  # the command in LaTeX for letters of other scripts
SHORTEST = 8  # a shorter value would also match harmless words
# A URL, also one whose slashes were merged when it was made a path. A colon with digits is a port.
_SCHEME = r"(?<![\w+.-])(?!file:)[A-Za-z][\w+.-]{1,30}:/{1,3}"
# A quotation mark before a comma, colon or bracket ends a text of JSON. It is not a part of the password.
_PASSWORD = re.compile(
    rf"({_SCHEME})[^/\s:@]{{0,99}}:(?!\d+/)(?:[^\s@\x22]|\\\x22|\x22(?![,:}}\]]))*(?:@[^\s/@\x22'<>]*)*@"
)
_TOKEN = re.compile(rf"({_SCHEME})[^\s/@\x22'<>?#\\]+@")
# An address may hold several secrets. The mark in the place of one, such as <password>, does not end it.
_ADDRESS = re.compile(rf"{_SCHEME}(?:\\.|<[\w -]{{1,60}}>|[^\s\x22'<>\\])+")
_PARAMETER = re.compile(
    r"((?:[?&#;]|%3F|%26|u0026)(?:[\w.-]{0,40}[_.-])?(?:(?:access|auth|api|id|refresh|secret|sas|private)?(?:token|key)|secret|"
    r"pass(?:word|wd)?|pwd|sig(?:nature)?|credential|auth(?:orization)?)=)(?:(?!&|%26|\\u0026)[^#\s])+",
    flags=re.IGNORECASE,
)
# Keys that are recognised by their form: OpenAI, Hugging Face, GitHub, GitLab, AWS, Slack.
_KEYS = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{20,}|hf_[A-Za-z0-9]{30,}|gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{22,}|glpat-[\w-]{20,}|"
    r"AKIA[0-9A-Z]{16}|xox[abprs]-[\w-]{10,})"
)
_variables: set[str] = set()  # names of variables that a setting names
_values: dict[str, str] = {}  # secrets that a setting holds, with what each of them is


def hide_variable(name: str) -> None:
    """From now on, replace the value of an environment variable, whatever its name is."""
    _variables.add(name)


def hide(value: str, what: str) -> None:
    """From now on, replace a value.

    Args:
        value: The secret.
        what: What it is. This text, in angle brackets, is written in its place.
    """
    _values[value] = what


def redacted(text: str) -> str:
    """The text with secrets replaced by what they are.

    These are replaced: values of environment variables whose names mark them as secret or that a setting
    names; passwords, user names and parameters such as `token=` in URLs; keys of well-known forms. A value is
    found in every way of quoting: JSON, shell, URL, HTML, LaTeX, Markdown and CSV.
    """
    return redactor()(text)


def redactor() -> Callable[[str], str]:
    """Make a function like `redacted` for many texts, with the secrets that are known now."""
    names = {
        value: name for name, value in os.environ.items() if _NAMES.search(name.upper()) or name in _variables
    } | _values
    secrets = tuple(
        (value, names[value]) for value in sorted(names, key=len, reverse=True) if len(value) >= SHORTEST
    )
    return _redactor(secrets)


@lru_cache(maxsize=8)
def _redactor(secrets: tuple[tuple[str, str], ...]) -> Callable[[str], str]:
    known = [(re.compile(_pattern(value)), value, f"<{what}>") for value, what in secrets]

    def clean(text: str) -> str:
        for pattern, value, what in known:
            text = pattern.sub(lambda found, value=value, what=what: what + _rest(found[0], value), text)  # type: ignore[misc]
        if ":/" in text:
            text = _TOKEN.sub(r"\1<password>@", _PASSWORD.sub(r"\1<password>@", text))
            text = _ADDRESS.sub(lambda address: _PARAMETER.sub(r"\1<secret>", address[0]), text)
        return _KEYS.sub("<key>", text)

    return clean


def _pattern(secret: str) -> str:
    """A pattern that matches a secret in every way of quoting.

    A table in LaTeX puts letters of other scripts into a command, so that its brace may stand between two
    characters.
    """
    parts, other = [], False
    for character in secret:
        if character.isascii() == other:
            other = not other
            parts.append(rf"(?:\\{SCRIPT}\{{)?" if other else r"\}?")
        parts.append(_quoted(character))
    return "".join([*parts, r"\}?" if other else ""])


def _rest(found: str, secret: str) -> str:
    """Keep a closing brace behind a secret if the matched text has no opening one."""
    brace = found.endswith("}") and not secret[-1].isascii() and f"\\{SCRIPT}{{" not in found
    return "}" if brace else ""


def _quoted(character: str) -> str:
    """A pattern that matches a character of a secret in every way of quoting."""
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
    # CSV doubles a quotation mark. After a backslash, a second one would be another character.
    return rf"(?:\\+\x22|\x22\x22|{quoted})" if character == '"' else quoted


def redacted_values(content: Any) -> Any:
    """Replace secrets in every text of nested dictionaries and lists; tuples become lists."""
    return _cleaned(content, redactor())  # made once: it looks through the whole environment


def _cleaned(content: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(content, Mapping):
        return {_cleaned(key, clean): _cleaned(value, clean) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_cleaned(value, clean) for value in content]
    return clean(content) if isinstance(content, str) else content


class _Redacting:
    """A stream that writes texts without secrets. Everything else goes to the stream below it."""

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
        # W&B's client sets its own `write` here, to copy what is printed.
        super().__setattr__(name, (lambda text: value(redacted(text))) if name == "write" else value)


def _tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sys.stderr.write(redacted("".join(traceback.format_exception(kind, error, trace))))


@contextmanager
def nothing_secret_said() -> Iterator[None]:
    """While the block runs, take secrets out of all that is printed, also out of tracebacks."""
    sys.excepthook = _tell
    with redirect_stdout(_Redacting(sys.stdout)), redirect_stderr(_Redacting(sys.stderr)):  # type: ignore[type-var]
        yield


@contextmanager
def arguments_without_secrets() -> Iterator[None]:
    """While the block runs, take secrets out of `sys.argv`, because some libraries save it."""
    given = sys.argv
    sys.argv = [redacted(word) for word in given]
    try:
        yield
    finally:
        sys.argv = given
