"""A stub of the hub's server on loopback: it takes an upload as the hub's client sends it, and keeps it."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "hf_stub"


class Hub(ThreadingHTTPServer):
    """The server. `made` has the repositories with their settings, `files` the committed bytes by path,
    `stored` large files by sha256, and `messages` those of commits."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.made: dict[str, Any] = {}
        self.files: dict[str, bytes] = {}
        self.stored: dict[str, bytes] = {}
        self.messages: list[str] = []
        self.asked: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self.answer(404, {"error": f"not in the stub: {self.path}"})

    def do_PUT(self) -> None:
        self.server.stored[self.path.rpartition("/")[2]] = self.take()
        self.answer(200, {})

    def do_POST(self) -> None:
        body = self.take()
        self.server.asked.append(self.path)
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.answer(401, {"error": "Invalid username or password."})
        elif self.path == "/api/validate-yaml":
            self.answer(200, {"errors": [], "warnings": []})
        elif self.path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked['organization']}/{asked['name']}"
            self.server.made[name] = asked
            self.answer(200, {"url": f"{self.server.address}/{name}"})
        elif "/preupload/" in self.path:
            modes = [
                {
                    "path": file["path"],
                    "uploadMode": "lfs" if file["path"].endswith(".safetensors") else "regular",
                }
                for file in json.loads(body)["files"]
            ]
            self.answer(200, {"files": [{**mode, "shouldIgnore": False} for mode in modes]})
        elif self.path.endswith("/info/lfs/objects/batch"):
            objects = json.loads(body)["objects"]
            places = [
                {**one, "actions": {"upload": {"href": f"{self.server.address}/store/{one['oid']}"}}}
                for one in objects
            ]
            self.answer(200, {"transfer": "basic", "objects": places})
        elif "/commit/" in self.path:
            self._commit([json.loads(line) for line in body.splitlines()])
        else:
            self.answer(404, {"error": f"not in the stub: {self.path}"})

    def _commit(self, lines: list[dict[str, Any]]) -> None:
        for line in lines:
            value = line["value"]
            if line["key"] == "header":
                self.server.messages.append(value["summary"])
            elif line["key"] == "file":
                self.server.files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                self.server.files[value["path"]] = self.server.stored[value["oid"]]
        commit = {"commitUrl": f"{self.server.address}/a/b/commit/1", "commitOid": "1" * 40}
        self.answer(200, {**commit, "hookOutput": ""})

    def take(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, code: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def hub() -> Iterator[Hub]:
    """A hub for the time of a `with`."""
    server = Hub()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
