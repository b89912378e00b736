"""`wandb sweep` and a real `wandb agent` with the sweep files, against a stub of the server."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from figlang.config.presets import CONF
from tests.running import ROOT, environment

KEY = "0123456789abcdef0123456789abcdef01234567"
# Added to the values of every trial: a tiny network, nothing sent.
FAST = {
    "debug": "fast",
    "trainer": "cpu",
    "trainer.progress": "false",
    "data.limit": 16,
    "logger.mode": "offline",
}


class Server(ThreadingHTTPServer):
    """As much of W&B's GraphQL as a sweep of two runs needs; `config` is the uploaded sweep.

    The first run is stopped as early termination does, when `log` is there, and begun again at the end.
    """

    config = ""
    log: Path | None = None
    asked: tuple[str, ...] = ()

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.waiting: list[dict[str, Any]] = []

    def answer(self, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        name = (re.search(r"(?:query|mutation)\s+(\w+)", query) or ["", "viewer"])[1]
        self.asked += (name,)
        project = {"id": "p", "name": "figlang", "entityName": "me", "entity": {"id": "e", "name": "me"}}
        if "upsertSweep" in query:
            self.config = variables["config"]
            self.waiting = self.trials()
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
        viewer = {
            "id": "u",
            "entity": "me",
            "username": "me",
            "flags": "{}",
            "teams": {"edges": []},
            "apiKeys": {"edges": []},
        }
        return {
            "viewer": viewer,
            "serverInfo": {"cliVersionInfo": {}, "latestLocalVersionInfo": None, "features": []},
        }

    def trials(self) -> list[dict[str, Any]]:
        given: Any = OmegaConf.to_container(OmegaConf.create(self.config))
        choices = [
            choice.get("values") or [choice["min"], choice["max"]] for choice in given["parameters"].values()
        ]
        drawn = [
            dict(zip(given["parameters"], values, strict=True)) for values in list(product(*choices))[:2]
        ]
        runs = [
            {
                "type": "run",
                "run_id": f"run{number}",
                "program": given["program"],
                "args": {name: {"value": value} for name, value in {**values, **FAST, **self.more}.items()},
            }
            for number, values in enumerate(drawn, 1)
        ]
        return [*runs, {**runs[0], "type": "resume"}] if self.log else runs

    @property
    def more(self) -> dict[str, Any]:
        return {"method.epochs": 300, "method.patience": 300} if self.log else {}

    def commands(self, states: dict[str, Any]) -> list[dict[str, Any]]:
        if states:  # of the run that is at work
            stops = self.log is not None and len(self.waiting) == 2 and self.log.is_file()
            return [{"type": "stop", "run_id": "run1"}] if stops else []
        return [self.waiting.pop(0)] if self.waiting else [{"type": "exit"}]


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


def sweep(home: Path, server: Server, path: Path, runs: int) -> str:
    """What `wandb sweep` and an agent that ends after `runs` runs say."""
    known = environment(home) | {
        "WANDB_BASE_URL": f"http://127.0.0.1:{server.server_port}",
        "WANDB_API_KEY": KEY,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    (home / "train.py").symlink_to(ROOT / "train.py")
    said = ""
    for words in (
        ["sweep", "--entity", "me", str(path)],
        ["agent", "--count", str(runs), "me/figlang/sweep7"],
    ):
        command = [sys.executable, "-m", "wandb", *words]
        result = subprocess.run(
            command, cwd=home, env=known, capture_output=True, text=True, timeout=1800, check=False
        )
        said += result.stdout + result.stderr
        assert result.returncode == 0, (said, server.asked)
    assert KEY not in said
    return said


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((CONF / "sweep").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_real_agent_trains_two_trials(tmp_path: Path, server: Server, path: Path) -> None:
    said = sweep(tmp_path, server, path, 2)
    settings = []
    for name in ("run1", "run2"):
        run = tmp_path / "runs" / "sweep" / "sweep7" / name
        assert (run / "metrics.json").is_file(), (said, server.asked)
        assert len(list((run / "wandb").glob(f"offline-run-*-{name}"))) == 1
        settings.append(json.loads((run / "recipe.json").read_text())["settings"])
    assert settings[0] != settings[1]


@pytest.mark.slow
def test_a_trial_that_the_agent_stops_early_goes_on_where_it_was(tmp_path: Path, server: Server) -> None:
    run = tmp_path / "runs" / "sweep" / "sweep7" / "run1"
    server.log = run / "log.csv"
    said = sweep(tmp_path, server, CONF / "sweep" / "mlm_lr.yaml", 3)
    stopped, _, resumed = said.partition("the same command continues")
    assert "epoch 1 of 300" in stopped, said
    assert "epoch 300 of 300" not in stopped, "the run finished before it was stopped: the test shows nothing"
    assert "resuming from" in resumed, said
    assert len(list((run / "wandb").glob("offline-run-*-run1"))) == 2
    for name in ("run1", "run2"):
        assert (run.with_name(name) / "metrics.json").is_file(), (said, server.asked)
