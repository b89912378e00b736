"""Two processes that need one file of the cache at once."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

import pytest

from figlang.files import downloads
from figlang.files.whole import lock

CONTENT = b"a file"
NOWHERE = "http://127.0.0.1:1/"


def test_a_second_process_waits_for_the_download_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in downloads.OFFLINE:
        monkeypatch.delenv(name, raising=False)
    caplog.set_level("INFO", "figlang")
    target, digest = tmp_path / "file.csv", hashlib.sha256(CONTENT).hexdigest()
    with ThreadPoolExecutor(1) as pool:
        with lock(tmp_path / ".file.csv.lock", tmp_path):
            second = pool.submit(downloads.fetch, NOWHERE, target, digest, len(CONTENT))
            while "waiting for another process" not in caplog.text and not second.done():
                sleep(0.01)
            target.write_bytes(CONTENT)
        second.result()  # it asks nobody, since the file is there
    assert [path.name for path in tmp_path.iterdir()] == [target.name]
