"""What happens to files: by accident, on the way, or on purpose."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.attack.attacker import Damage

DEEP = "[" * 100_000
BINARY = bytes(range(256)) * 40
PAGE = b"<!DOCTYPE html>\n<html><head><title>404</title></head><body>Not found, really.</body></html>\n"
POINTER = (
    b"version https://git-lfs.github.com/spec/v1\noid "
    b"sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32\nsize 12345\n"
)


def holding(name: str, content: bytes | str) -> Damage:
    """The file with this content."""

    def damage(home: Path) -> None:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    return damage


def changed(name: str, change: Callable[[bytes], bytes]) -> Damage:
    return lambda home: (home / name).write_bytes(change((home / name).read_bytes()))


def cut(name: str, share: float = 0.5) -> Damage:
    return changed(name, lambda content: content[: int(len(content) * share)])


def missing(name: str) -> Damage:
    return lambda home: shutil.rmtree(home / name) if (home / name).is_dir() else (home / name).unlink()


def folder(name: str) -> Damage:
    """A folder in the file's place."""

    def damage(home: Path) -> None:
        (home / name).unlink(missing_ok=True)
        (home / name).mkdir(parents=True)

    return damage


def loop(name: str) -> Damage:
    """A link that leads to itself."""

    def damage(home: Path) -> None:
        (home / name).unlink(missing_ok=True)
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).symlink_to(Path(name).name)

    return damage


def pipe(name: str) -> Damage:
    """A pipe that nobody writes to."""

    def damage(home: Path) -> None:
        (home / name).unlink(missing_ok=True)
        os.mkfifo(home / name)

    return damage


def entries(name: str, **values: Any) -> Damage:
    """A JSON file with other entries; those that are `...` are taken out."""

    def change(content: bytes) -> bytes:
        whole = json.loads(content) | values
        return json.dumps({key: value for key, value in whole.items() if value is not ...}).encode()

    return changed(name, change)


def inside(name: str, place: str, value: Any) -> Damage:
    """A JSON file with another value at a place such as metrics.accuracy.value."""

    def change(content: bytes) -> bytes:
        whole = json.loads(content)
        *way, last = place.split(".")
        found = whole
        for key in way:
            found = found[key]
        found[last] = value
        return json.dumps(whole).encode()

    return changed(name, change)


def line(name: str, number: int = 2, **values: Any) -> Damage:
    """A JSONL file with other entries in one of its lines."""

    def change(content: bytes) -> bytes:
        lines = content.splitlines()
        whole = json.loads(lines[number - 1]) | values
        lines[number - 1] = json.dumps(
            {key: value for key, value in whole.items() if value is not ...}
        ).encode()
        return b"\n".join(lines) + b"\n"

    return changed(name, change)


# What may happen to any file, by name.
ANY: dict[str, Callable[[str], Damage]] = {
    "missing": missing,
    "empty": lambda name: holding(name, b""),
    "cut": cut,
    "a folder": folder,
    "binary": lambda name: holding(name, BINARY),
    "a page": lambda name: holding(name, PAGE),
    "a pointer": lambda name: holding(name, POINTER),
    "a loop": loop,
}
# And to a file of JSON.
JSON: dict[str, Callable[[str], Damage]] = {
    "a list": lambda name: holding(name, "[]"),
    "no entries": lambda name: holding(name, "{}"),
    "null": lambda name: holding(name, "null"),
    "nested": lambda name: holding(name, '{"a": ' + DEEP),
    "UTF-16": lambda name: changed(name, lambda content: content.decode().encode("utf-16")),
}
