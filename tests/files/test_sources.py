"""Where files come from: packages, folders, pinned downloads. Every request stays on this machine."""

import gzip
import hashlib
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest
from datasets import ClassLabel, Dataset, Features, Value

from figlang.errors import FiglangError
from figlang.files import sources
from figlang.files.sources import CARRIERS, hub_rows, local_path, package_path, sha256
from figlang.files.whole import beside_name
from tests.running import ROOT

CONTENT = b"startphrase,ending1,ending2,labels\na,x,y,0\n"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


def data_file(
    relative: str, root: str | None, url: str, digest: str, cache: str, size: int = len(CONTENT)
) -> Path:
    return sources.data_file(relative, root, url, digest, cache, size)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An installed package that carries a model and cannot be imported."""
    folder = tmp_path / "site" / "carries_weights"
    (folder / "model").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise ImportError('needs a library that is not here')\n")
    monkeypatch.syspath_prepend(folder.parent)
    return "carries_weights"


# package:<module>/<path>


@pytest.mark.parametrize("locate", [package_path, local_path])
def test_a_source_in_a_package_is_located_and_the_package_never_imported(
    locate: Callable[[str], Path], package: str, tmp_path: Path
) -> None:
    assert locate(f"package:{package}/model") == tmp_path / "site" / package / "model"
    assert package not in sys.modules


@pytest.mark.parametrize(
    "source", ["package:no_such_package/model", "package:/model", "package:", "package:no.such.package/x"]
)
def test_a_package_that_is_not_installed_is_named_with_the_remedy(source: str) -> None:
    with pytest.raises(FiglangError, match="no installed package") as error:
        package_path(source)
    assert str(error.value).startswith(f"{source}: ")
    assert "pip install" in str(error.value)


def test_a_module_that_is_no_package_carries_no_files() -> None:
    with pytest.raises(FiglangError, match="no installed package is named 'this'"):
        package_path("package:this/model")


def test_a_path_that_a_package_does_not_hold_is_named(package: str, tmp_path: Path) -> None:
    with pytest.raises(
        FiglangError, match=f"package '{package}' is installed but holds no 'weights'"
    ) as error:
        package_path(f"package:{package}/weights")
    assert str(tmp_path / "site" / package / "weights") in str(error.value)


def test_the_bundled_samples_are_a_package_source() -> None:
    assert (package_path("package:figlang/samples") / "figqa" / "filtered" / "train.csv").is_file()


# Local folders


def test_a_local_source_may_begin_at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert local_path("~/data") == tmp_path / "data"


def test_the_hash_is_that_of_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    # The well-known digest of nothing.
    assert sha256(tmp_path / "empty") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_a_local_file_is_used_as_it_is_even_if_it_differs_from_upstream(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_bytes(b"mine")
    assert data_file("own.csv", str(tmp_path), "http://unused.invalid", DIGEST, "") == tmp_path / "own.csv"


def test_a_local_folder_without_the_file_names_folder_address_and_setting(tmp_path: Path) -> None:
    with pytest.raises(FiglangError) as error:
        data_file("filtered/dev.csv", str(tmp_path), "http://upstream.invalid/dev.csv", DIGEST, "")
    for part in (
        "filtered/dev.csv",
        str(tmp_path),
        "paths.data=DIR",
        "FIGLANG_DATA",
        "http://upstream.invalid/dev.csv",
    ):
        assert part in str(error.value)
    assert "\n" not in str(error.value)


# Downloads


class Upstream(ThreadingHTTPServer):
    """Serves CONTENT at /data.csv and counts requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/data.csv"


class Handler(BaseHTTPRequestHandler):
    server: Upstream

    def do_GET(self) -> None:
        self.answer(with_body=True)

    def do_HEAD(self) -> None:
        self.answer(with_body=False)

    def answer(self, with_body: bool) -> None:
        self.server.requests.append(f"{self.command} {self.path}")
        body = CONTENT if self.path == "/data.csv" else b"no such file"
        self.send_response(200 if self.path == "/data.csv" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    online(monkeypatch)
    with Upstream() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def online(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.delenv("HF_DATASETS_OFFLINE", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_download_lands_in_the_cache_in_upstream_layout_alone(upstream: Upstream, tmp_path: Path) -> None:
    path = data_file("filtered/data.csv", None, upstream.url, DIGEST, str(tmp_path))
    assert path == tmp_path / "filtered" / "data.csv"
    assert path.read_bytes() == CONTENT
    assert files(tmp_path) == [path]


def test_a_cached_file_makes_no_request(upstream: Upstream, tmp_path: Path) -> None:
    first = data_file("data.csv", None, upstream.url, DIGEST, str(tmp_path))
    asked = len(upstream.requests)
    assert asked > 0
    assert data_file("data.csv", None, upstream.url, DIGEST, str(tmp_path)) == first
    assert len(upstream.requests) == asked


def test_a_damaged_cached_file_is_fetched_again(upstream: Upstream, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_bytes(CONTENT[:10])
    assert data_file("data.csv", None, upstream.url, DIGEST, str(tmp_path)).read_bytes() == CONTENT


def test_a_download_that_is_not_the_pinned_file_is_refused_and_not_kept(
    upstream: Upstream, tmp_path: Path
) -> None:
    pinned = "0" * 64
    with pytest.raises(FiglangError) as error:
        data_file("data.csv", None, upstream.url, pinned, str(tmp_path))
    for part in (upstream.url, "has changed", DIGEST[:12], pinned[:12], "paths.data=DIR"):
        assert part in str(error.value)
    assert "\n" not in str(error.value)
    assert files(tmp_path) == []


def unreachable(url: str, cache: Path) -> str:
    with pytest.raises(FiglangError) as error:
        data_file("filtered/dev.csv", None, url, DIGEST, str(cache))
    return str(error.value)


def check_sentence(message: str, url: str, cache: Path) -> None:
    for part in ("dev.csv", str(cache / "filtered"), url, "paths.data=DIR", "FIGLANG_DATA"):
        assert part in message
    assert "\n" not in message
    assert files(cache) == []


def test_an_address_that_does_not_answer_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    online(monkeypatch)
    url = f"http://127.0.0.1:{closed_port()}/dev.csv"
    check_sentence(unreachable(url, tmp_path), url, tmp_path)


def test_an_address_that_is_gone_is_one_sentence(upstream: Upstream, tmp_path: Path) -> None:
    url = upstream.url.replace("data.csv", "gone.csv")
    check_sentence(unreachable(url, tmp_path), url, tmp_path)


def test_offline_mode_is_one_sentence(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    check_sentence(unreachable(upstream.url, tmp_path), upstream.url, tmp_path)
    assert upstream.requests == []


@pytest.mark.skipif(sys.platform == "win32", reason="folders are not protected by mode on Windows")
def test_a_cache_that_is_a_file_is_one_sentence(upstream: Upstream, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("not a folder")
    with pytest.raises(FiglangError, match=r"paths\.cache=DIR") as error:
        data_file("data.csv", None, upstream.url, DIGEST, str(tmp_path / "cache"))
    assert str(tmp_path / "cache") in str(error.value)


class Hostile(BaseHTTPRequestHandler):
    """Sends without end at /endless, stops at /stalled, sends slowly at /slow, and gzip at /packed."""

    def do_GET(self) -> None:
        self.send_response(200)
        if self.path == "/packed":
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        with suppress(OSError):
            if self.path == "/packed":
                self.wfile.write(gzip.compress(b"x" * 10_000_000))
                return
            for _ in range(40 if self.path != "/endless" else 10_000):
                self.wfile.write(b"x" if self.path != "/endless" else b"x" * 65536)
                if self.path != "/endless":
                    self.server.waiting.wait(30 if self.path == "/stalled" else 0.05)  # type: ignore[attr-defined]

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("endless", "sends more than the 42 bytes"),
        ("packed", "sends more than the 42 bytes"),
        ("stalled", "FIGLANG_DOWNLOAD_TIMEOUT=SECONDS waits longer"),
        ("slow", "FIGLANG_DOWNLOAD_TIMEOUT=SECONDS waits longer"),
    ],
)
def test_a_hostile_server_is_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str, message: str
) -> None:
    online(monkeypatch)
    monkeypatch.setenv("FIGLANG_DOWNLOAD_TIMEOUT", "0.5")
    with ThreadingHTTPServer(("127.0.0.1", 0), Hostile) as server:
        server.daemon_threads = True
        server.waiting = Event()  # type: ignore[attr-defined]
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        with pytest.raises(FiglangError, match=message):
            data_file(
                "data.csv", None, f"http://127.0.0.1:{server.server_port}/{path}", DIGEST, str(tmp_path), 42
            )
        server.waiting.set()  # type: ignore[attr-defined]
        server.shutdown()
        thread.join()
    assert files(tmp_path) == []


@pytest.mark.parametrize("seconds", ["0", "-1", "soon", "nan", "inf"])
def test_a_time_that_is_none_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seconds: str
) -> None:
    monkeypatch.setenv("FIGLANG_DOWNLOAD_TIMEOUT", seconds)
    with pytest.raises(FiglangError, match="is not a number of seconds above 0"):
        data_file("data.csv", None, "http://unused.invalid", DIGEST, str(tmp_path))


def test_what_a_killed_download_left_is_removed_by_the_next(upstream: Upstream, tmp_path: Path) -> None:
    left = beside_name(tmp_path / "data.csv")
    left.write_bytes(b"half")
    (tmp_path / ".data.csv.lock").write_bytes(b"")
    path = data_file("data.csv", None, upstream.url, DIGEST, str(tmp_path))
    assert files(tmp_path) == [path]


# The hub


def test_rows_of_the_hub_have_the_names_of_their_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    features = Features(
        {
            "premise": Value("string"),
            "n": Value("int64"),
            "label": ClassLabel(names=["entailment", "neutral"]),
        }
    )
    columns = {"premise": ["a", "b", None], "n": [7, 8, 9], "label": [1, -1, 0]}
    asked = []

    def load_dataset(*place: str | None, split: str) -> Dataset:
        asked.append((*place, split))
        return Dataset.from_dict(columns, features)

    monkeypatch.setattr("datasets.load_dataset", load_dataset)
    rows, digest = hub_rows("some/data", "large", "train")
    assert asked == [("some/data", "large", "train")]
    assert rows == [
        (1, {"premise": "a", "n": "7", "label": "neutral"}),
        (2, {"premise": "b", "n": "8", "label": "-"}),
        (3, {"n": "9", "label": "entailment"}),
    ]
    columns["premise"][0] = "c"
    assert hub_rows("some/data", "large", "train")[1] != digest


def test_a_hub_that_cannot_be_reached_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def load_dataset(*_: str | None, split: str) -> Dataset:
        raise ConnectionError("no way\nout")

    monkeypatch.setattr("datasets.load_dataset", load_dataset)
    with pytest.raises(FiglangError) as error:
        hub_rows("some/data", None, "train")
    for part in (
        "train of the data set some/data on the hub could not be fetched (ConnectionError: no way out)",
        "paths.data=DIR",
    ):
        assert part in str(error.value)


@pytest.mark.parametrize(("module", "carrier"), CARRIERS.items())
def test_a_missing_package_of_a_preset_is_named_as_its_registry_does(
    module: str, carrier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(FiglangError, match=f"`pip install --no-deps {carrier}`$"):
        package_path(f"package:{module}/model")


def test_every_package_of_a_preset_has_its_name() -> None:
    named = {
        word.removeprefix("package:").partition("/")[0]
        for preset in (ROOT / "conf" / "model").glob("*.yaml")
        for word in preset.read_text(encoding="utf-8").split()
        if word.startswith("package:") and "<" not in word
    }
    assert named == set(CARRIERS)
