"""The server: who may see and do what, blindness, wrong requests, the end of the process."""

import json
import re
import signal
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from figlang.rating import sheets
from figlang.rating.serving import app
from figlang.rating.serving.order import CHECK
from tests.needing import needs
from tests.rating.serving.served import Client, Served, served
from tests.sampled import sampled

needs("starlette", "needs starlette and uvicorn (figlang[people])")
WORDS = ["texts=[t.csv]", "scale=figqa", "raters=[ann,ben]", "checks=2", "port=0", "folder=s"]
TEXTS = "model,item,prompt,answer\n" + "".join(
    f"{model},q{n},Question {n}?,Answer {place} {n}.\n"
    for n in range(6)
    for place, model in enumerate(("huge", "tiny"))
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("served")
    (made / "t.csv").write_text(TEXTS)
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Served]:
    with served([*WORDS, "join=true", "names=[rate.example.org]"], folder) as running:
        yield running


def test_a_rater_sees_texts_in_the_own_order_and_nothing_else(server: Served) -> None:
    ann, ben = Client(server.port), Client(server.port)
    one, other = ann.enter(server.codes["ann"]), ben.enter(server.codes["ben"])
    texts = [[item["answer"] for item in work["items"]] for work in (one, other)]
    assert texts[0] != texts[1]
    assert len(texts[0]) == 14
    assert not re.search(rf'huge|tiny|"id"|r\d\d-|{CHECK}', json.dumps(one))
    assert one["name"] == "ann"
    assert "ben" not in json.dumps(one)


def test_no_rater_sees_anothers_work(server: Served) -> None:
    ann, ben = Client(server.port), Client(server.port)
    ann.enter(server.codes["ann"])
    assert ann.answer(3, "literal")[0] == 200
    work = ben.enter(server.codes["ben"])
    assert {item["given"] for item in work["items"]} == {None}
    for path in ("/api/live", "/api/export/answers.csv", "/api/export/sheet-ann.csv"):
        assert ben.ask(path)[:2] == (403, {"error": "This is not yours to see."})
        assert Client(server.port).ask(path)[0] == 401
    assert ann.ask("/api/work")[1]["items"][3]["given"] == "literal"


def test_the_organiser_sees_everybody_and_answers_nothing(server: Served) -> None:
    organiser = Client(server.port)
    found = organiser.enter(server.codes["organiser"])
    assert {"ann", "ben"} <= {one["rater"] for one in found["raters"]}
    assert organiser.answer(0, "literal")[0] == 403
    status, text, headers = organiser.ask("/api/export/answers.csv")
    assert status == 200
    assert headers["content-disposition"] == 'attachment; filename="answers.csv"'
    assert text.startswith("rater,place,id,answer,")
    assert organiser.ask("/api/export/..%2Fkey.json")[0] == 404


def test_a_request_of_another_page_is_refused(server: Served) -> None:
    ann = Client(server.port)
    ann.enter(server.codes["ann"])
    assert ann.answer(0, "correct")[0] == 200
    content = {"place": 0, "value": "literal", "seconds": 1}
    for headers, status in (
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"x-figlang-token": ""}, 403),
        ({"x-figlang-token": "é"}, 403),
        ({"host": "evil.example"}, 400),
        ({"host": ""}, 400),
    ):
        assert ann.ask("/api/answer", content, headers)[0] == status, headers
    assert ann.ask("/api/work", headers={"host": "rate.example.org"})[0] == 200
    assert ann.ask("/api/work")[1]["items"][0]["given"] == "correct"
    assert ann.ask("/api/answer", content, {"origin": f"http://127.0.0.1:{server.port}"})[0] == 200


def test_cookies_and_headers_keep_the_session_here(server: Served) -> None:
    status, _, headers = Client(server.port).ask("/api/enter", {"code": server.codes["ann"]})
    assert status == 200
    cookie = headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=strict", "path=/"))
    for path in app.FILES:
        status, text, headers = Client(server.port).ask(path)
        assert status == 200
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers
        assert not re.search(r"https?://|@import|url\(|style=|<script>", text), path


@pytest.mark.parametrize(
    "content",
    [
        {"place": -1, "value": "literal", "seconds": 1},
        {"place": 14, "value": "literal", "seconds": 1},
        {"place": True, "value": "literal", "seconds": 1},
        {"place": "1", "value": "literal", "seconds": 1},
        {"place": 1, "value": "wonderful", "seconds": 1},
        {"place": 1, "value": None, "seconds": 1},
        {"place": 1, "value": "literal", "seconds": "1"},
        {"place": 1, "value": "literal"},
        [],
        "x" * 40_000,
    ],
)
def test_what_is_no_answer_is_refused_in_one_sentence(server: Served, content: object) -> None:
    ben = Client(server.port)
    ben.enter(server.codes["ben"])
    status, found, _ = ben.ask("/api/answer", content)
    assert status in (400, 413)
    assert list(found) == ["error"]
    assert {item["given"] for item in ben.ask("/api/work")[1]["items"]} == {None}


def test_what_is_no_json_is_refused(server: Served) -> None:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
    for body in (b"{", b"\xff", b"NaN", b"[" * 9000):
        connection.request("POST", "/api/enter", body, {"content-type": "application/json"})
        reply = connection.getresponse()
        assert (reply.status, "error" in json.loads(reply.read())) == (400, True)
    connection.close()


def test_people_join_once_by_the_link(server: Served) -> None:
    link = re.search(r"Join: \S+\?join=(\S+)&PROLIFIC_PID=ID", server.said)
    assert link, server.said
    new = Client(server.port)
    status, found, _ = new.ask("/api/join", {"code": link[1], "name": "5f3a"})
    assert status == 200
    assert new.ask("/api/work")[1]["name"] == "5f3a"
    assert Client(server.port).enter(found["code"])["name"] == "5f3a"
    for content, status in (
        ({"code": link[1], "name": "5f3a"}, 409),
        ({"code": link[1], "name": "ann"}, 409),
        ({"code": link[1], "name": ""}, 400),
        ({"code": "wrong", "name": "5f3b"}, 403),
    ):
        assert Client(server.port).ask("/api/join", content)[0] == status


def test_after_signing_out_a_session_is_over(server: Served) -> None:
    ann = Client(server.port)
    ann.enter(server.codes["ann"])
    before = ann.cookie
    assert ann.ask("/api/leave", {})[0] == 200
    ann.cookie = before
    assert ann.ask("/api/work")[1] == {"role": "nobody"}
    assert ann.answer(0, "correct")[0] == 401


def test_two_servers_of_one_folder_are_refused(server: Served, folder: Path) -> None:
    with pytest.raises(AssertionError, match="error: another process is working in s"):
        Served(WORDS, folder)


def test_codes_cannot_be_guessed_by_the_thousand(folder: Path) -> None:
    with served([*WORDS[:-1], "folder=guessed"], folder) as running:
        client = Client(running.port)
        found = [client.ask("/api/enter", {"code": f"aaaa-aaaa-{n}"})[0] for n in range(app.TRIES + 2)]
        assert found == [403] * app.TRIES + [429] * 2
        assert client.ask("/api/enter", {"code": running.codes["ann"]})[0] == 429


def test_ctrl_c_writes_the_exports_and_the_same_command_goes_on(folder: Path) -> None:
    words = [*WORDS[:-1], "folder=stopped"]
    server = Served(words, folder)
    client = Client(server.port)
    client.enter(server.codes["ann"])
    assert client.answer(0, "literal")[0] == 200
    server.process.send_signal(signal.SIGINT)
    said, _ = server.process.communicate(timeout=30)
    assert server.process.returncode == 0, said
    assert "files are in stopped/exports" in said
    assert sheets.COLUMNS[0] in (folder / "stopped" / "exports" / "answers.csv").read_text()
    with served(["folder=stopped", "port=0", "raters=[cleo]"], folder) as again:
        assert {name: again.codes[name] for name in server.codes} == server.codes
        client.port = again.port
        assert client.ask("/api/work")[1]["items"][0]["given"] == "literal"  # the session goes on too
        assert client.answer(1, "literal")[0] == 200
        Client(again.port).enter(again.codes["cleo"])


def test_a_port_that_is_taken_is_named(server: Served, folder: Path) -> None:
    words = [*WORDS[:-2], f"port={server.port}", "folder=s2"]
    with pytest.raises(AssertionError, match=f"error: host=127.0.0.1 port={server.port} cannot be listened"):
        Served(words, folder)


NO_SHEET = (["folder=nothing", "raters=[ann]"], "nothing has no sheet and no study; give answers by runs=")
UNSERVED = [
    NO_SHEET,
    (["folder=nothing", "raters=[ann]", "texts=[none.csv]"], "none.csv"),
    (
        ["folder=nothing", "export=true"],
        "nothing/study.json is missing or damaged; give the folder of a study",
    ),
    (["texts=[t.csv]", "folder=nobody"], "nobody rates yet; give raters="),
    ([*WORDS[:-1], "folder=s3", "instructions=no.txt"], "instructions=no.txt cannot be read"),
]


@pytest.mark.parametrize(("words", "message"), sampled(UNSERVED, NO_SHEET))
def test_what_cannot_be_served_is_one_line(folder: Path, words: list[str], message: str) -> None:
    with pytest.raises(AssertionError, match=message) as said:
        Served(words, folder)
    assert str(said.value).startswith("error: ")
