"""`python -m figlang VERB key=value …`: the verbs are the files of figlang/commands/."""

import ast
import re
import sys
from difflib import get_close_matches
from pathlib import Path

from figlang.config.entry import lazy

COMMANDS = Path(__file__).parent / "commands"
VERBS = sorted(path.stem for path in COMMANDS.glob("[a-z]*.py"))
USAGE = """usage: python -m figlang VERB key=value …

{verbs}

`python -m figlang VERB --help` lists the options of a verb.
"""


def main() -> None:
    """Run the verb that the command line names first.

    Raises:
        SystemExit: With exit code 2 if there is no such verb.
    """
    words = sys.argv[1:]
    if not words or words[0] in ("--help", "-h"):
        lines = (f"  {verb:<16}{about(verb)}" for verb in VERBS)
        sys.stdout.write(USAGE.format(verbs="\n".join(lines)))
        raise SystemExit(0 if words else 2)
    verb, *rest = words
    if verb not in VERBS:
        meant = "".join(f" Did you mean {close}?" for close in get_close_matches(verb, VERBS, n=1))
        sys.stderr.write(f"error: figlang has no verb {verb!r}.{meant} The verbs are {', '.join(VERBS)}.\n")
        raise SystemExit(2)
    # Lightning starts the further processes of a training by `python sys.argv[0] …`, so this is the file of
    # the verb; but by `python -m NAME` if the main module has a specification, which does not know the verb.
    sys.argv = [str(COMMANDS / f"{verb}.py"), *rest]
    sys.modules["__main__"].__spec__ = None
    lazy(verb)()


def about(verb: str) -> str:
    """What a verb does: the first sentence of its file, without the example."""
    text = ast.get_docstring(ast.parse((COMMANDS / f"{verb}.py").read_text(encoding="utf-8"))) or ""
    sentence = " ".join(text.partition("\n\n")[0].split())
    return re.split(r":? \(?`", sentence)[0].rstrip(".")


if __name__ == "__main__":
    main()
