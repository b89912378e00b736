"""The script that completes a command line of figlang. All names stand in it, so that the tab key starts no
program."""

from collections.abc import Mapping
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

from figlang.config.roots import ROOTS, Root, tables_of
from figlang.config.topics import chapters, every, presets_of

# Bash splits words at `=` and replaces what is behind it; zsh has whole words, and so has bash if a user took
# `=` out of COMP_WORDBREAKS.
_SCRIPT = """\
_figlang() {{
    local line=${{COMP_LINE:0:$COMP_POINT}} word keys values key before after first second each
    word=${{line##* }}
    read -r _ first second <<<"$line"
    [ "$first" = "$word" ] && [ -z "$second" ] && first=
{two_words}
    COMPREPLY=()
    before= after=$word values=
    if [ -z "$first" ]; then
        values="{verbs}"
    elif [[ $word == *=* ]]; then
        key=${{word%%=*}} after=${{word#*=}}
        case $key in
{values}
        esac
        {whole_words} && before="$key="
    else
        case $first in
{keys}
        esac
    fi
    for each in $values; do
        [[ $each == "$after"* ]] && COMPREPLY+=("$before$each")
    done
    case "${{key:+$key=}}$first" in
    {files})
        for each in "$after"*; do
            [ -e "$each" ] && COMPREPLY+=("$before$each")
        done ;;
    esac
    if [[ ${{COMPREPLY[*]}} == *= ]] && type compopt >/dev/null 2>&1; then
        compopt -o nospace 2>/dev/null
    fi
    return 0
}}
complete {option}-F _figlang figlang
"""
_ZSH = "#compdef figlang\nautoload -U +X bashcompinit && bashcompinit\n"
# Keys whose value may be the name of a file or folder.
FILES = ("checkpoint", "data", "model", "run", "output", "data.*", "paths.*", "model.name_or_path", "folder")


def script(shell: str, folder: Path) -> str:
    """The script of a shell.

    Args:
        shell: bash or zsh.
        folder: The folder with a folder of presets for each group.
    """
    roots = {verb: _every_root(root) for verb, root in ROOTS.items()}
    keys = "\n".join(
        f'        {_one(verb)}) values="{" ".join([*_second(verb), *_keys(several)])} --help" ;;'
        for verb, several in roots.items()
    )
    values: dict[str, list[str]] = {}
    for verb, several in roots.items():
        for key, names in _values(several, folder).items():
            values[key] = list(dict.fromkeys([*values.get(key, []), *names]))
        if ROOTS[verb].tables is not None:
            values["table"] = list(tables_of(ROOTS[verb]))
    lines = "\n".join(
        f'        {key}) values="{" ".join(names)}" ;;' for key, names in sorted(values.items())
    )
    text = _SCRIPT.format(
        verbs=" ".join(verb for verb in ROOTS if " " not in verb),
        two_words="\n".join(
            f'    [[ $line == *"figlang {verb} "* ]] && first={_one(verb)}' for verb in ROOTS if " " in verb
        ),
        keys=keys,
        values=lines,
        files="|".join(
            [
                *(f"{key}=*" for key in FILES),
                *(_one(verb) for verb, root in ROOTS.items() if "runs" in _names(root)),
            ]
        ),
        whole_words="[[ $COMP_WORDBREAKS != *=* ]]" if shell == "bash" else "true",
        option="" if shell == "bash" else "-o nospace ",
    )
    return text if shell == "bash" else _ZSH + text


def _one(verb: str) -> str:
    """A verb as one word of the script."""
    return verb.replace(" ", "_")


def _second(verb: str) -> list[str]:
    """The words that follow a verb in a verb of two words."""
    return [other.partition(" ")[2] for other in ROOTS if other.startswith(f"{verb} ")]


def _every_root(root: Root) -> list[Root]:
    """The root of a verb, with those of its tables."""
    tables = () if root.tables is None else tables_of(root).values()
    return [root, *(Root(table.options, root.presets) for table in tables)]


def _names(root: Root) -> set[str]:
    return {spec.name for spec in fields(root.schema)}


def _fields(roots: list[Root]) -> Mapping[str, tuple[Field[Any], Any]]:
    return {name: found for root in roots for name, found in every(root)}


def _keys(roots: list[Root]) -> list[str]:
    """The keys of groups and fields, each with the `=` that follows it."""
    groups = {name for root in roots for name in chapters(root)} - {"fields"}
    return [f"{key}=" for key in (*sorted(groups), *_fields(roots))]


def _values(roots: list[Root], folder: Path) -> Mapping[str, list[str]]:
    """The values that are known of each key: options of groups, choices of fields, true and false."""
    known = {
        name: presets_of(name, folder)
        for root in roots
        for name in chapters(root)
        if presets_of(name, folder)
    }
    for name, (spec, kind) in _fields(roots).items():
        choices = [choice for choice in spec.metadata.get("choices", ()) if choice and " " not in choice]
        if choices or kind is bool:
            known[name] = choices or ["true", "false"]
        if name == "split":
            known[name] = ["dev", *choices]
    return known
