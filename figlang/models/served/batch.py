"""Requests as files in OpenAI's batch format, which cost half: requests out, results in.

A line of requests has the key of its request as `custom_id`, so that its result is found again. Whoever has
the key of the endpoint sends the file and puts the file of results beside it. A file of results is never
deleted, whatever its name is: it has been paid for.
"""

import json
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from figlang.errors import FiglangError, one_line
from figlang.files import folders
from figlang.files.redaction import redacted
from figlang.files.whole import lock, write_lines
from figlang.models.served.refusal import FILTER, Answer, refusal, refused
from figlang.models.served.store import Call, Store
from figlang.text.amounts import counted

PREFIX = "requests-"
MOST = 50_000  # requests in a file, by OpenAI's limit


def write(folder: Path, calls: Sequence[Call], known: Collection[str] = ()) -> list[Path]:
    """Write requests into a folder, in place of this command's earlier files of requests.

    Args:
        folder: Where the files are written.
        calls: The requests.
        known: Keys of requests whose earlier files may be replaced: those of this command, and those that
            are answered.

    Returns:
        The files.

    Raises:
        FiglangError: The folder cannot be written to, has requests of another command that have no result, or
            a request holds a secret.
    """
    lines = [f"{json.dumps(line(call))}\n" for call in calls]
    if secret := next((number for number, text in enumerate(lines, 1) if redacted(text) != text), None):
        raise FiglangError(
            f"request {secret} of {len(calls)} holds a key or password, which is not written into "
            f"model.batch={folder}; take it out of the data or the prompt, or leave model.batch out"
        )
    folders.check_place(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with lock(folder / folders.LOCK, folder, "model.batch=DIR"):
            earlier = [path for path in sorted(folder.glob(f"{PREFIX}*.jsonl")) if _asks(path)]
            _check_unsent(folder, earlier, {*known, *(call.key for call in calls)})
            parts = [lines[start : start + MOST] for start in range(0, len(lines), MOST)]
            files = [folder / f"{PREFIX}{number}.jsonl" for number in range(1, len(parts) + 1)]
            if other := next((path for path in files if path.exists() and path not in earlier), None):
                raise FiglangError(f"{other} is not a file of requests; give it another name")
            # A process that is killed between these two lines leaves requests twice, and never loses one.
            for path, part in zip(files, parts, strict=True):
                write_lines(path, part)
            for old in set(earlier) - set(files):
                old.unlink()
    except OSError as error:
        raise FiglangError(
            f"model.batch={folder} cannot be written to ({error.strerror}); give another folder"
        ) from error
    return files


def _check_unsent(folder: Path, earlier: Sequence[Path], known: Collection[str]) -> None:
    """Check that no file of requests waits for results that another command needs.

    Raises:
        FiglangError: One does.
    """
    waiting = {path: _keys(path) - set(known) for path in earlier}
    if any(waiting.values()):
        answered = {key for path in folder.glob("*.jsonl") if path not in waiting for key in _keys(path)}
        if mine := next((path for path, keys in waiting.items() if keys - answered), None):
            raise FiglangError(
                f"{mine} has {counted(len(waiting[mine] - answered), 'request')} of another command "
                "without results; "
                "send it and put its results there first, delete it, or give another model.batch=DIR"
            )


def _keys(path: Path) -> set[str]:
    """The keys of the requests or results in a file. Lines that are neither have none."""
    found = set()
    for text in _lines(path):
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            found.add(str(json.loads(text)["custom_id"]))
    return found


def line(call: Call) -> dict[str, Any]:
    """A request as a line of a file."""
    return {"custom_id": call.key, "method": "POST", "url": f"/v1/{call.route}", "body": dict(call.body)}


def read(
    folder: Path, calls: Sequence[Call], store: Store, unusable: Callable[[Call, Answer], str | None]
) -> tuple[int, list[str]]:
    """Store the results that lie in a folder. A result that cannot be used counts as failed.

    Args:
        folder: A folder with files of results, *.jsonl. Files of requests are left out.
        calls: The requests whose results are wanted. A useless stored answer is replaced.
        store: Where they are stored.
        unusable: Says why an answer cannot be used, or None.

    Returns:
        How many results were stored, and the errors of requests that failed and have no other result.

    Raises:
        FiglangError: A line is not a result. It names the file and the line.
    """
    wanted = {call.key: call for call in calls if call not in store or unusable(call, store[call])}
    stored, failed = 0, dict[str, str]()
    for path in sorted(folder.glob("*.jsonl")):
        if _asks(path):
            continue
        for number, text in enumerate(_lines(path), start=1):
            if not text.strip():
                continue
            key, status, body = _result(path, number, text)
            call = wanted.get(key)
            if call is None:
                continue  # of another command, or a line that stands twice
            said = f"{status}, {one_line(Exception(json.dumps(body)))}"
            answer = body if status == 200 and body.get("choices") else None
            if answer is None and FILTER.search(json.dumps(body)):
                answer = refusal(said)
            reason = said if answer is None else None if refused(answer) else unusable(call, answer)
            if answer is None or reason is not None:
                failed[key] = f"{path.name} line {number}: {reason}"
            else:
                store[call] = answer
                stored += 1
                del wanted[key]
                failed.pop(key, None)  # it had failed in an earlier batch
    return stored, list(failed.values())


def _asks(path: Path) -> bool:
    """Whether a file is one of requests, by its name and its first line."""
    if not path.name.startswith(PREFIX) or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            row = json.loads(file.readline())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(row, dict) and row.keys() == {"custom_id", "method", "url", "body"}


def _lines(path: Path) -> list[str]:
    """The lines of a file. JSON may hold the separators of lines that Unicode has besides."""
    try:
        if not path.is_file():
            raise FiglangError(f"{path} is not a file; take it out of model.batch={path.parent}")
        return path.read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError) as error:
        raise FiglangError(
            f"{path} cannot be read ({one_line(error)}); put the file of results there again"
        ) from error


def _result(path: Path, number: int, text: str) -> tuple[str, int | None, dict[str, Any]]:
    """The id, the status and the body of a line of results."""
    try:
        row = json.loads(text)
        response = row.get("response") or {}
        body = response.get("body") or row.get("error") or {}
        status = response.get("status_code")
        if not isinstance(body, dict) or not isinstance(status, int | None):
            raise TypeError("its response is not an object")
        return str(row["custom_id"]), status, body
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FiglangError(
            f"{path}: line {number} is not a result of a batch ({one_line(error)}); download the file again"
        ) from error
