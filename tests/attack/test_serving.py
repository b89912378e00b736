"""The page on which people rate: requests of every damage, databases that were cut, a full disk."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.attack import damage
from tests.attack.attacker import Attack, cases, check
from tests.needing import needs
from tests.rating.serving.served import Client, Served, served

needs("starlette", "needs starlette and uvicorn (figlang[people])")

ITEMS = ("data=figqa_sample", "limit=4", "raters=[ann,ben]", "port=0")
ASKED = {"choice": "0", "paraphrase": "some words"}
HALF = "\ud800"  # of a pair of UTF-16, which is no text
# What an answer may hold instead, and the status: 200 where it is an answer.
ODD: dict[str, tuple[dict[str, Any], int]] = {
    "seconds huge": ({"seconds": 10**400}, 400),
    "seconds nan": ({"seconds": float("nan")}, 400),
    "seconds a word": ({"seconds": "1"}, 400),
    "seconds before": ({"seconds": -5}, 200),
    "place huge": ({"place": 10**30}, 400),
    "place true": ({"place": True}, 400),
    "place -1": ({"place": -1}, 400),
    "value long": ({"value": "9" * 5000}, 400),
    "value half": ({"value": HALF}, 400),
    "value a list": ({"value": [1]}, 400),
    "value empty": ({"value": " \0\x1b "}, 400),
    "sent half": ({"sent": HALF}, 400),
    "sent a list": ({"sent": [[1]]}, 200),
    "confident an object": ({"confident": {"a": 1}}, 200),
}
BODIES = {"deep": b"[" * 30_000, "no text": b"\xff", "null": b"null", "large": b" " * 40_000, "empty": b""}
HEADERS = {
    "host half": ({"host": "["}, 400),
    "host empty": ({"host": ""}, 400),
    "origin half": ({"origin": "http://["}, 400),
    "origin null": ({"origin": "null"}, 403),
    "cookie": ({"cookie": "figlang_rating=\xff\xfe"}, 401),
    "token": ({"x-figlang-token": "\xff"}, 403),
}


@pytest.fixture(scope="module", params=sorted(ASKED))
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("odd")
    with served([*ITEMS, f"ask={request.param}", "folder=s", "join=true"], folder) as running:
        running.ask = request.param  # type: ignore[attr-defined]
        yield running
        assert running.process.stdout is not None
        running.process.kill()
        said = running.process.stdout.read()
        assert "Traceback" not in said, said[-3000:]


@pytest.fixture
def ann(server: Served) -> Client:
    client = Client(server.port)
    client.enter(server.codes["ann"])
    return client


def right(server: Served) -> dict[str, Any]:
    value = ASKED[server.ask]  # type: ignore[attr-defined]
    return {"place": 0, "value": value, "confident": True, "seconds": 1.0}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_answer(server: Served, ann: Client, name: str) -> None:
    change, status = ODD[name]
    found = ann.ask("/api/answer", {**right(server), "sent": name, **change})
    assert found[0] == status, found
    assert (status == 200) == ("error" not in found[1])


@pytest.mark.parametrize("name", HEADERS)
def test_odd_headers(server: Served, ann: Client, name: str) -> None:
    headers, status = HEADERS[name]
    assert ann.ask("/api/answer", {**right(server), "sent": name}, headers)[0] == status


@pytest.mark.parametrize("name", BODIES)
def test_an_odd_body(server: Served, ann: Client, name: str) -> None:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
    headers = {"content-type": "application/json", "cookie": ann.cookie, "x-figlang-token": ann.token}
    connection.request("POST", "/api/answer", BODIES[name], headers)
    assert connection.getresponse().status in (400, 413)
    connection.close()


@pytest.mark.parametrize("code", [HALF, [[1]], {"a": 1}, "x" * 5000, None])
def test_odd_codes(server: Served, code: object) -> None:
    assert Client(server.port).ask("/api/enter", {"code": code})[0] in (400, 403)
    assert Client(server.port).ask("/api/join", {"code": code, "name": code})[0] in (400, 403)


def test_signs_for_terminals_are_not_kept_and_formulas_are_text(server: Served, ann: Client) -> None:
    if server.ask != "paraphrase":  # type: ignore[attr-defined]
        pytest.skip("only paraphrases are texts")
    text = "=cmd|'/C calc'!A0 \x1b]0;x\x07 \0 वि\u200dश"
    assert ann.ask("/api/answer", {**right(server), "value": text, "sent": "text"})[0] == 200
    assert ann.ask("/api/work")[1]["items"][0]["given"] == "=cmd|'/C calc'!A0 ]0;x वि\u200dश"
    organiser = Client(server.port)
    organiser.enter(server.codes["organiser"])
    for name in organiser.ask("/api/live")[1]["files"]:
        status, table, _ = organiser.ask(f"/api/export/{name}")
        assert status == 200
        assert ",=cmd" not in table
        assert '"=cmd' not in table


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a study of choices that one rater has answered."""
    home = tmp_path_factory.mktemp("study")
    with served([*ITEMS, "ask=choice", "folder=s"], home) as running:
        client = Client(running.port)
        client.enter(running.codes["ann"])
        for place in range(4):
            assert client.answer(place, "0")[0] == 200
    with closing(sqlite3.connect(home / "s" / "answers.sqlite")) as base:
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return home


BASE = "s/answers.sqlite"


def told(*statements: str) -> damage.Damage:
    """The database after somebody else's SQL."""

    def spoil(home: Path) -> None:
        with closing(sqlite3.connect(home / BASE)) as base, base:
            for statement in statements:
                base.execute(statement)

    return spoil


def torn(share: float) -> damage.Damage:
    """The database with zeros from somewhere on, as after a disk has failed."""
    return damage.changed(
        BASE, lambda content: content[: (n := int(len(content) * share))] + bytes(len(content) - n)
    )


SPOILED: dict[str, tuple[damage.Damage, str | None]] = {
    "as it is": (lambda home: None, None),
    **{f"cut to {share}": (damage.cut(BASE, share), "answers.sqlite") for share in (0.1, 0.5, 0.9)},
    **{f"zeros from {share}": (torn(share), "answers.sqlite") for share in (0.2, 0.5, 0.8)},
    **{
        f"database {kind}": (damage.ANY[kind](BASE), "answers.sqlite")
        for kind in ("missing", "empty", "a folder", "binary", "a page", "a pointer", "a loop")
    },
    **{
        f"no table {name}": (told(f"DROP TABLE {name}"), f"answers.sqlite has no table {name}")
        for name in ("answers", "raters", "facts")
    },
    "no tables": (
        told("DROP TABLE answers", "DROP TABLE sessions", "DROP TABLE raters", "DROP TABLE facts"),
        "answers.sqlite has no table answers",
    ),
    "a word for an option": (told("UPDATE answers SET value = 'x'"), "answers.sqlite"),
    "an option too many": (told("UPDATE answers SET value = '7'"), "answers.sqlite"),
    "bytes for an option": (told("UPDATE answers SET value = x'ff'"), "answers.sqlite"),
    "words for seconds": (told("UPDATE answers SET seconds = 'x'"), "answers.sqlite"),
    "a word for a time": (told("UPDATE answers SET at = 'x'"), "answers.sqlite"),
    "a rater unknown": (told("UPDATE answers SET rater = '../../x'"), "answers.sqlite"),
    "another study's": (told("UPDATE facts SET value = 'x'"), "answers.sqlite"),
    **{
        f"study {kind}": (make("s/study.json"), "study.json")
        for kind, make in (damage.ANY | damage.JSON).items()
    },
    **{
        f"study with {name}": (damage.changed("s/study.json", change), "study|answers")
        for name, change in {
            "no questions": lambda content: json.dumps({**json.loads(content), "questions": []}).encode(),
            "gold 9": lambda content: content.replace(b'"gold": 0', b'"gold": 9'),
            "a mark beyond": lambda content: content.replace(b'"mark": null', b'"mark": [5, 99999]'),
            "checks 10**9": lambda content: content.replace(b'"checks": 0', b'"checks": 1000000000'),
        }.items()
    },
}


def exported() -> Iterator[Attack]:
    for name, (spoil, says) in SPOILED.items():
        yield Attack(name, "rate_serve", ("folder=s", "export=true"), says, spoil)


@pytest.mark.parametrize("attack", cases(exported()))
def test_a_study_is_exported_or_refused(tmp_path: Path, study: Path, attack: Attack) -> None:
    home = Path(shutil.copytree(study, tmp_path / "home"))
    check(home, attack)


@pytest.mark.faults
def test_exports_do_not_leave_their_folder(tmp_path: Path, study: Path) -> None:
    home = Path(shutil.copytree(study, tmp_path / "home"))
    (home / "outside").mkdir()

    def link(place: Path) -> None:
        shutil.rmtree(place / "s" / "exports", ignore_errors=True)
        (place / "s" / "exports").symlink_to(place / "outside")

    check(home, Attack("a link", "rate_serve", ("folder=s", "export=true"), "link", link))
    assert not list((home / "outside").iterdir())


@pytest.mark.faults
def test_two_servers_do_not_share_a_study(tmp_path: Path, study: Path) -> None:
    home = Path(shutil.copytree(study, tmp_path / "home"))
    with served(["folder=s", "port=0"], home):
        check(home, Attack("a second", "rate_serve", ("folder=s", "port=0"), "another process"))


def test_an_answer_that_a_full_disk_does_not_take_is_refused_and_nothing_is_lost(
    tmp_path: Path, study: Path
) -> None:
    home = Path(shutil.copytree(study, tmp_path / "home"))
    with served(["folder=s", "port=0"], home) as running:
        client = Client(running.port)
        client.enter(running.codes["ann"])
        full = max(path.stat().st_size for path in (home / "s").iterdir())
        os_limit(running.process.pid, full)
        statuses = [client.answer(place % 4, "1", sent=f"n{place}")[0] for place in range(60)]
        assert set(statuses) == {200, 503}, statuses
        kept = statuses.count(200)
        os_limit(running.process.pid, 1 << 40)
        assert client.answer(0, "1", sent="last")[0] == 200
        running.process.kill()
        assert running.process.stdout is not None
        said = running.process.stdout.read()
        assert "Traceback" not in said, said[-3000:]
    with closing(sqlite3.connect(home / BASE)) as base:
        assert base.execute("SELECT count(*) FROM answers").fetchone()[0] == 4 + kept + 1


def os_limit(process: int, size: int) -> None:
    """From now on, no file of a process may be larger: its system says so as it says that a disk is full."""
    import resource

    resource.prlimit(process, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
