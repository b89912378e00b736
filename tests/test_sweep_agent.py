"""`wandb sweep` and a real `wandb agent` with the sweep files as they are, against a stub of the server on loopback."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from figlang.command import CONF
from tests.test_train import ROOT, environment

KEY = "0123456789abcdef0123456789abcdef01234567"
# Added to the values of the first trial: a tiny network, nothing sent.
FAST = {"debug": "fast", "trainer": "cpu", "trainer.progress": "false", "data.limit": 16, "logger.mode": "offline"}


class Server(ThreadingHTTPServer):
    """As much of W&B's GraphQL as a sweep of one run needs; `config` is the uploaded sweep."""

    config = ""
    handed = False
    asked: tuple[str, ...] = ()

    def answer(self, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        name = (re.search(r"(?:query|mutation)\s+(\w+)", query) or ["", "viewer"])[1]
        self.asked += (name,)
        project = {"id": "p", "name": "figlang", "entityName": "me", "entity": {"id": "e", "name": "me"}}
        if "upsertSweep" in query:
            self.config = variables["config"]
            sweep = {"id": "s", "name": "sweep7", "project": project}
            return {"upsertSweep": {"sweep": sweep, "configValidationWarnings": []}}
        if "createAgent" in query:
            return {"createAgent": {"agent": {"id": "agent1"}}}
        if "agentHeartbeat" in query:
            return {
                "agentHeartbeat": {
                    "agent": {"id": "agent1"},
                    "commands": json.dumps(self.commands(json.loads(variables["runState"]))),
                }
            }
        if "sweep(" in query:
            sweep = {
                "id": "s",
                "name": "sweep7",
                "state": "RUNNING",
                "config": self.config,
                "method": "grid",
                "runs": {"edges": []},
            }
            return {"project": {**project, "sweep": sweep}}
        viewer = {"id": "u", "entity": "me", "username": "me", "flags": "{}", "teams": {"edges": []}, "apiKeys": {"edges": []}}
        return {"viewer": viewer, "serverInfo": {"cliVersionInfo": {}, "latestLocalVersionInfo": None, "features": []}}

    def commands(self, states: dict[str, Any]) -> list[dict[str, Any]]:
        if not self.handed:
            self.handed = True
            given: Any = OmegaConf.to_container(OmegaConf.create(self.config))
            values = {
                name: choice["values"][0] if "values" in choice else choice["min"] for name, choice in given["parameters"].items()
            }
            args = {name: {"value": value} for name, value in {**values, **FAST}.items()}
            return [{"type": "run", "run_id": "run1", "program": given["program"], "args": args}]
        return [] if "run1" in states else [{"type": "exit"}]  # named while they run


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not self.path.endswith("/graphql"):
            return self.reply({})
        asked = json.loads(body)
        self.reply({"data": self.server.answer(asked["query"], asked.get("variables") or {})})

    def do_GET(self) -> None:
        self.reply({})

    def reply(self, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    pytest.importorskip("wandb", reason="needs figlang[wandb]")
    made = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((CONF / "sweep").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_real_agent_trains(tmp_path: Path, server: Server, path: Path) -> None:
    binaries = Path(sys.executable).parent
    known = environment(tmp_path) | {
        "WANDB_BASE_URL": f"http://127.0.0.1:{server.server_port}",
        "WANDB_API_KEY": KEY,
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    (tmp_path / "train.py").symlink_to(ROOT / "train.py")
    said = ""
    for words in (["sweep", "--entity", "me", str(path)], ["agent", "--count", "1", "me/figlang/sweep7"]):
        command = [sys.executable, "-m", "wandb", *words]
        result = subprocess.run(command, cwd=tmp_path, env=known, capture_output=True, text=True, timeout=900, check=False)
        said += result.stdout + result.stderr
        assert result.returncode == 0, (said, server.asked)
    run = tmp_path / "runs" / "sweep" / "sweep7" / "run1"
    assert (run / "metrics.json").is_file(), (said, server.asked)
    assert len(list((run / "wandb").glob("offline-run-*-run1"))) == 1
    assert KEY not in said
