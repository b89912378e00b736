"""A small OpenAI-compatible server on loopback, whose language model is a formula, with faults on demand."""

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from typing import Any

MODEL = "stub-1"
WORDS = re.compile(r"<\|\w+\|>| ?[^\W\d_]+|\s|\d|[^\w\s]|_")


def log_prob(before: str, token: str) -> float:
    """The stub's log-probability of a token after all that stands before it: any number, always the same."""
    return -(int(sha256(f"{before}|{token}".encode()).hexdigest()[:6], 16) % 9000 + 100) / 1000


@dataclass
class Stub:
    """What the server does and has seen. `fault` answers instead of the model where it returns a status with
    headers and a body, and breaks the connection if the status is 0; `inserts` lets it read a suffix, which
    then stands after the prompt and a bar; `likeliest` and `following` are the tokens and the text after a
    prompt, and `shifted` gives every token of a prompt the value of its neighbour, as llama-cpp-python does
    without a bos.

    `seen` are the bodies of all requests but the probe's; `open` and `most` count those in flight.
    """

    echo: bool = True
    prompt_logprobs: bool = False
    completes: bool = True
    chats: bool = True
    key: str | None = None
    bos: str = ""
    shifted: bool = False
    inserts: bool = False
    delay: float = 0.0
    ranks: bool = True
    likeliest: Callable[[str], dict[str, float]] = lambda text: {}
    following: Callable[[str], str] = lambda text: " so"
    reply: Callable[[str], str] = lambda message: "B"
    fault: Callable[["Stub", dict[str, Any]], tuple[int, dict[str, str], str] | None] = lambda stub, body: (
        None
    )
    refuses: tuple[str, ...] = ()
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    flying: int = 0
    most: int = 0
    url: str = ""

    @property
    def words(self) -> list[str]:
        """What a command is told to ask this server."""
        return ["model=served", f"model.endpoint={self.url}", f"model.name={MODEL}"]

    @property
    def seen(self) -> list[dict[str, Any]]:
        return [
            body
            for body in self.requests
            if "as hot as an oven" not in str(body) and "Reply with the letter A." not in str(body)
        ]

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, str], str]:
        if faulty := self.fault(self, body):
            return faulty
        if body["model"] != MODEL:
            return _error(404, f"The model `{body['model']}` does not exist.")
        if unknown := [name for name in self.refuses if name in body]:
            return _error(400, f"Unsupported parameter: {unknown[0]}")
        if path == "/v1/completions" and self.completes:
            return 200, {}, json.dumps(self._completion(body))
        if path == "/v1/chat/completions" and self.chats:
            text = self.reply(body["messages"][-1]["content"])
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            return (
                200,
                {},
                json.dumps({"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 1}}),
            )
        return _error(404, "Not Found")

    def _completion(self, body: dict[str, Any]) -> dict[str, Any]:
        text = body["prompt"] + (f"|{body['suffix']}" if self.inserts and "suffix" in body else "")
        tokens = ([self.bos] if self.bos else []) + WORDS.findall(text)
        values = [
            None if not place else log_prob("".join(tokens[:place]), token)
            for place, token in enumerate(tokens)
        ]
        following = log_prob("".join(tokens), " so")
        if self.shifted:
            values = [None, *values[2:], following]
        choice: dict[str, Any] = {
            "index": 0,
            "text": self.following(text),
            "logprobs": None,
            "finish_reason": "length",
        }
        if "logprobs" in body and not body.get("echo"):
            choice["logprobs"] = {"tokens": [" so"], "token_logprobs": [following]}
            if self.ranks:
                choice["logprobs"]["top_logprobs"] = [self.likeliest(text) or {" so": following}]
        elif body.get("echo") and self.echo:
            choice["text"] = text + " so"
            choice["logprobs"] = {"tokens": [*tokens, " so"], "token_logprobs": [*values, following]}
        if "prompt_logprobs" in body and self.prompt_logprobs:
            choice["prompt_logprobs"] = [
                None if value is None else {str(place): {"logprob": value, "decoded_token": token}}
                for place, (token, value) in enumerate(zip(tokens, values, strict=True))
            ]
        return {"choices": [choice], "usage": {"prompt_tokens": len(tokens), "completion_tokens": 1}}


def _error(status: int, message: str) -> tuple[int, dict[str, str], str]:
    return status, {}, json.dumps({"error": {"message": message, "type": "invalid_request_error"}})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stub: Stub
    lock = threading.Lock()

    def do_GET(self) -> None:
        self._send(200, {}, json.dumps({"object": "list", "data": [{"id": MODEL, "object": "model"}]}))

    def do_POST(self) -> None:
        stub, body = self.stub, json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.lock:
            stub.requests.append(body)
            stub.headers.append({name.lower(): value for name, value in self.headers.items()})
            stub.flying += 1
            stub.most = max(stub.most, stub.flying)
        time.sleep(stub.delay)
        if stub.key is not None and self.headers["Authorization"] != f"Bearer {stub.key}":
            found = _error(401, f"Incorrect API key provided: {self.headers['Authorization']}")
        else:
            found = stub.answer(self.path, body)
        with self.lock:
            stub.flying -= 1
        if found[0]:
            self._send(*found)
        else:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    def _send(self, status: int, headers: dict[str, str], text: str) -> None:
        data = text.encode()
        try:
            self.send_response(status)
            for name, value in {
                "Content-Type": "application/json",
                "Content-Length": str(len(data)),
                **headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # who asked has gone

    def log_message(self, *_: Any) -> None:
        pass


class _OneByOne(HTTPServer):
    """Reads one connection until it is closed, and only then the next."""

    request_queue_size = 128


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # with the usual 5, connections that come all at once are reset


@contextmanager
def serving(stub: Stub, port: int = 0, one_by_one: bool = False) -> Iterator[Stub]:
    """The stub at `stub.url` while the block runs; when it ends the server is gone, connections included."""
    handler = type("Handler", (_Handler,), {"stub": stub})
    server = (_OneByOne if one_by_one else _Server)(("127.0.0.1", port), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    stub.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
