"""A server of `figlang rate serve` in a process of its own, browsers, and requests like those of the page."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

from tests.running import ROOT, environment

CODE = r"^  (\S+) +((?:\w{4}-){2}\w{4})$"


class Served:
    """A running server: its process, its port and everybody's code."""

    def __init__(self, words: list[str], folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "figlang", "rate", "serve", *words],
            cwd=folder,
            env=environment(folder) | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout is not None
        said = ""
        for line in self.process.stdout:
            said += line
            if line.startswith("Ctrl-C"):
                break
        address = re.search(r"The page: (http://127\.0\.0\.1:(\d+)/)", said)
        if address is None:
            self.kill()
        assert address, said
        self.said, self.address, self.port = said, address[1], int(address[2])
        self.codes = dict(re.findall(CODE, said, flags=re.MULTILINE))

    def kill(self) -> None:
        """End it by kill -9."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def served(words: list[str], folder: Path) -> Iterator[Served]:
    server = Served(words, folder)
    try:
        yield server
    finally:
        server.kill()


class Client:
    """Requests with a session, as the page makes them."""

    def __init__(self, port: int) -> None:
        self.port, self.cookie, self.token = port, "", ""

    def ask(
        self, path: str, content: object = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any, dict[str, str]]:
        """The status, the content and the headers of a reply."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            sent = {"cookie": self.cookie, "x-figlang-token": self.token}
            if content is not None:
                sent["content-type"] = "application/json"
            body = None if content is None else json.dumps(content).encode()
            sent |= headers or {}
            connection.request("GET" if content is None else "POST", path, body, sent)
            reply = connection.getresponse()
            text = reply.read().decode()
            found = {name.lower(): value for name, value in reply.getheaders()}
            for name, one in SimpleCookie(found.get("set-cookie", "")).items():
                self.cookie = f"{name}={one.value}"
            kind = found.get("content-type", "")
            return reply.status, json.loads(text) if kind.startswith("application/json") else text, found
        finally:
            connection.close()

    def enter(self, code: str) -> dict[str, Any]:
        """Sign in. Returns the work of a rater, or what the organiser sees."""
        status, found, _ = self.ask("/api/enter", {"code": code})
        assert status == 200, found
        path = "/api/live" if found["role"] == "organiser" else "/api/work"
        status, work, _ = self.ask(path)
        assert status == 200, work
        self.token = work["token"]
        return dict(work)

    def answer(self, place: int, value: str, **more: object) -> tuple[int, Any, dict[str, str]]:
        content = {
            "place": place,
            "value": value,
            "confident": True,
            "seconds": 1.5,
            "sent": f"{place} {value}",
        }
        return self.ask("/api/answer", content | more)
