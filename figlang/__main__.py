"""`figlang VERB key=value …`: the verbs are the files of figlang/commands/."""

import ast
import re
import sys
from difflib import get_close_matches
from pathlib import Path

from figlang.config.entry import lazy
from figlang.config.purposes import PURPOSES
from figlang.config.purposes import verb as named
from figlang.config.refusals import refuse_fault
from figlang.machine.printing import legible
from figlang.machine.process import run

COMMANDS = Path(__file__).parent / "commands"
VERBS = sorted(named(path.stem) for path in COMMANDS.glob("[a-z]*.py"))
USAGE = """usage: figlang VERB key=value …

{verbs}

`figlang VERB --help` explains a verb, `figlang VERB --help GROUP` its options.
"""


def main() -> None:
    """Run the verb that the command line names first.

    Raises:
        SystemExit: With exit code 2 if there is no such verb.
    """
    legible()
    words = sys.argv[1:]
    if words[:1] == ["help"]:  # as other commands take it: figlang help train
        words = [*words[1:2], "--help", *words[2:]]
    if not words or words[0] in ("--help", "-h"):
        try:
            sys.stdout.write(usage())
        except OSError as error:  # what it is printed to is full
            refuse_fault(error, training=False)
        raise SystemExit(0 if words else 2)
    verb, *rest = words
    if rest and f"{verb} {rest[0]}" in VERBS:
        verb, rest = f"{verb} {rest[0]}", rest[1:]
    if verb not in VERBS:
        meant = "".join(f" Did you mean {close}?" for close in get_close_matches(verb, VERBS, n=1))
        sys.stderr.write(f"error: figlang has no verb {verb!r}.{meant} The verbs are {', '.join(VERBS)}.\n")
        raise SystemExit(2)
    # Lightning starts the further processes of a training by `python sys.argv[0] …`, so this is the file of
    # the verb; but by `python -m NAME` if the main module has a specification, which does not know the verb.
    sys.argv = [str(_file(verb)), *rest]
    sys.modules["__main__"].__spec__ = None
    lazy(verb)()


def usage() -> str:
    """The verbs by their purpose, with a line for each."""
    blocks = [
        "\n".join([f"{purpose}:", *(f"  {verb:<15}{about(verb)}" for verb in verbs)])
        for purpose, verbs in PURPOSES.items()
    ]
    return USAGE.format(verbs="\n\n".join(blocks))


def _file(verb: str) -> Path:
    return COMMANDS / f"{verb.replace(' ', '_')}.py"


def about(verb: str) -> str:
    """The purpose of a verb: the first sentence of its file, without the example."""
    text = ast.get_docstring(ast.parse(_file(verb).read_text(encoding="utf-8"))) or ""
    sentence = " ".join(text.partition("\n\n")[0].split())
    return re.split(r":? \(?`", sentence)[0].rstrip(".")


def process() -> None:
    """The process of the command `figlang`. Programs call `main`, which returns to them."""
    run(main)


if __name__ == "__main__":
    process()
