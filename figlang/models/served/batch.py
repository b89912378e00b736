"""Requests as files in OpenAI's batch format, which cost half: requests out, results in.

A line of requests has the key of its request as `custom_id`, so that its result is found again. Whoever has
the key of the endpoint sends the file and puts the file of results beside it.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from figlang.errors import FiglangError, one_line
from figlang.files.whole import write_lines
from figlang.models.served.refusal import FILTER, refusal
from figlang.models.served.store import Call, Store

PREFIX = "requests-"
MOST = 50_000  # requests in a file, by OpenAI's limit


def write(folder: Path, calls: Sequence[Call]) -> list[Path]:
    """Write requests into a folder, and remove its earlier files of requests.

    Args:
        folder: Where the files are written.
        calls: The requests.

    Returns:
        The files.

    Raises:
        FiglangError: The folder cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob(f"{PREFIX}*.jsonl"):
            old.unlink()
        files = []
        for number, start in enumerate(range(0, len(calls), MOST), start=1):
            path = folder / f"{PREFIX}{number}.jsonl"
            write_lines(path, [f"{json.dumps(line(call))}\n" for call in calls[start : start + MOST]])
            files.append(path)
    except OSError as error:
        raise FiglangError(
            f"model.batch={folder} cannot be written to ({error.strerror}); give another folder"
        ) from error
    return files


def line(call: Call) -> dict[str, Any]:
    """A request as a line of a file."""
    return {"custom_id": call.key, "method": "POST", "url": f"/v1/{call.route}", "body": dict(call.body)}


def read(folder: Path, calls: Sequence[Call], store: Store) -> tuple[int, list[str]]:
    """Store the results that lie in a folder.

    Args:
        folder: A folder with files of results, *.jsonl. Files of requests are left out.
        calls: The requests whose results are wanted.
        store: Where they are stored, if they are not there.

    Returns:
        How many results were stored, and the errors of requests that failed.

    Raises:
        FiglangError: A line is not a result. It names the file and the line.
    """
    wanted = {call.key: call for call in calls if call not in store}
    stored, failed = 0, []
    for path in sorted(folder.glob("*.jsonl")):
        if path.name.startswith(PREFIX):
            continue
        # A reply may hold other characters that Python takes for the end of a line.
        for number, text in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
            if not text.strip():
                continue
            key, status, body = _result(path, number, text)
            call = wanted.get(key)
            if call is None or call in store:
                continue  # of another command, or a line that stands twice
            if status == 200 and body.get("choices"):
                store[call] = body
                stored += 1
            elif FILTER.search(json.dumps(body)):
                store[call] = refusal(one_line(Exception(json.dumps(body))))
                stored += 1
            else:
                failed.append(f"{path.name} line {number}: {status}, {one_line(Exception(json.dumps(body)))}")
    return stored, failed


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
