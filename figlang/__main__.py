"""`python -m figlang VERB key=value …`: the verbs are the files of figlang/commands/."""

import sys
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

COMMANDS = Path(__file__).parent / "commands"
VERBS = sorted(path.stem for path in COMMANDS.glob("[a-z]*.py"))
USAGE = f"""usage: python -m figlang VERB key=value …
verbs: {", ".join(VERBS)}
`python -m figlang VERB --help` lists the options of a verb.
"""


def main() -> None:
    """Run the verb that the command line names first."""
    words = sys.argv[1:]
    if not words or words[0] in ("--help", "-h"):
        sys.stdout.write(USAGE)
        raise SystemExit(0 if words else 2)
    verb, *rest = words
    if verb not in VERBS:
        meant = "".join(f" Did you mean {close}?" for close in get_close_matches(verb, VERBS, n=1))
        sys.stderr.write(f"error: figlang has no verb {verb!r}.{meant} The verbs are {', '.join(VERBS)}.\n")
        raise SystemExit(2)
    # Lightning starts further processes with `python sys.argv[0] …`, which has to be a file that knows the
    # verb.
    sys.argv = [str(COMMANDS / f"{verb}.py"), *rest]
    import_module(f"figlang.commands.{verb}").main()


if __name__ == "__main__":
    main()
