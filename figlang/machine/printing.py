"""Make names and messages safe: they neither control a terminal nor damage a file."""

import codecs
import io
import logging
import os
import sys
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def printable(plain: str, lines: bool = False) -> str:
    """Text without control characters, which control a terminal and are not allowed in XML.

    Each is replaced by a visible character. Line breaks and tabs become spaces.

    Args:
        plain: The text.
        lines: Keep line breaks.
    """
    if plain.isprintable():  # nearly all text; what is replaced below is not printable to Python either
        return plain
    return "".join(char if char == "\n" and lines else _shown(char) for char in plain)


def say(line: str, console: "Console", style: str = "") -> None:
    """Print a line as it is: nothing in it is markup or an emoji, and rich does not break it.

    Args:
        line: The line.
        console: Where to print.
        style: A style of rich, for example `bold`.
    """
    console.print(printable(line), style=style, highlight=False, markup=False, emoji=False, soft_wrap=True)


def _shown(char: str) -> str:
    if char in "\n\r\t\v\f\x85\u2028\u2029":
        return " "
    match unicodedata.category(char):
        case "Cc" if ord(char) < 0x20:
            return chr(0x2400 + ord(char))
        case "Cc" | "Cs":
            return "\ufffd"
        # Marks that change the direction of text can hide a name. Joiners stay: some scripts need them.
        case "Cf" if char in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff":
            return "\ufffd"
    return "\ufffd" if char in "\ufffe\uffff" else char


# Replacements of characters that a terminal cannot show.
_PLAIN = {
    **dict.fromkeys("–‒‐‑−━─╸╺", "-"),
    **dict.fromkeys("“”„«»", '"'),
    **dict.fromkeys("‘’‚", "'"),
    **{
        "—": "--",
        "…": "...",
        "×": "x",
        "·": ".",
        "•": "*",
        "†": "+",
        "±": "+-",
        "→": "->",
        "≤": "<=",
        "≥": ">=",
    },
    **{"§": "section ", "½": "1/2", "\u00a0": " ", "\u202f": " "},
}


def _plainer(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(_PLAIN.get(char) or _without_marks(char) for char in wrong), error.end


def _without_marks(char: str) -> str:
    """A letter without its accent, or a question mark."""
    letters = unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode()
    return letters or "?"


def legible() -> None:
    """Replace characters that the terminal cannot show, so that no command ends in UnicodeEncodeError.

    Streams that say what to do with such characters are left as they are. A stream that was closed before the
    process began (`>&-` in a shell) goes nowhere.
    """
    codecs.register_error("figlang.plainer", _plainer)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, io.TextIOWrapper(io.FileIO(os.devnull, "w"), encoding="utf-8"))
    for stream, own in ((sys.stdout, ("strict",)), (sys.stderr, ("strict", "backslashreplace"))):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in own:
            stream.reconfigure(errors="figlang.plainer")


class _Following(logging.Handler):
    """Writes to what is standard error at that moment. While a bar is shown, this is a stream that puts lines
    above the bar."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(f"{self.format(record)}\n")
            sys.stderr.flush()
        except Exception:  # as in every handler: a record that cannot be logged does not end the work
            self.handleError(record)


def log_to_terminal() -> None:
    """Show figlang's log messages and the warnings of libraries on standard error, unless the program has its
    own way."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s", handlers=[_Following()])
    if any(isinstance(handler, _Following) for handler in logging.getLogger().handlers):
        # At this level libraries would report details, for example that matplotlib looked for fonts.
        logging.getLogger("figlang").setLevel(logging.INFO)
