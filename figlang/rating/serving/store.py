"""The answers of people, in an SQLite database: every answer is on the disk before the page goes on."""

import hashlib
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

from pydantic import TypeAdapter, ValidationError

from figlang.errors import FiglangError, one_line
from figlang.files import folders, stored

DATABASE = "answers.sqlite"
ORGANISER = ""  # the name of the organiser among the raters, who all have a name
# Without letters and digits that look alike.
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
TABLES = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS raters (name TEXT PRIMARY KEY, code TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS sessions (token TEXT PRIMARY KEY, rater TEXT NOT NULL REFERENCES raters(name));
CREATE TABLE IF NOT EXISTS answers (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  rater TEXT NOT NULL REFERENCES raters(name),
  question TEXT NOT NULL,
  value TEXT NOT NULL,
  confident INTEGER NOT NULL,
  seconds REAL NOT NULL,
  at TEXT NOT NULL,
  sent TEXT NOT NULL,
  UNIQUE (rater, sent)
);
CREATE INDEX IF NOT EXISTS latest ON answers (rater, question, number);
COMMIT;
"""
NEEDED = {"facts", "raters", "sessions", "answers"}  # made in one transaction, so all are there or none
LATEST = """
SELECT rater, question, value, confident, total, at, revisions FROM answers JOIN (
  SELECT max(number) AS last,
    iif(min(typeof(seconds) IN ('real', 'integer')), sum(seconds), 'not a number') AS total,
    count(*) AS revisions
  FROM answers GROUP BY rater, question
) ON number = last ORDER BY number
"""


@dataclass(frozen=True)
class Answer:
    """The last answer of a rater to a question.

    Attributes:
        rater: The name of the rater.
        question: The id of the question.
        value: A code, the place of an option, or a text.
        confident: Whether the rater was sure.
        seconds: How long the rater looked at the question, all visits together.
        at: When it was given (UTC, ISO 8601).
        revisions: How many answers the rater gave to this question; earlier ones are kept in the database.
    """

    rater: str
    question: str
    value: str
    confident: bool
    seconds: float
    at: str
    revisions: int


ROW = TypeAdapter(Answer)


def renew(folder: Path, signature: str) -> bool:
    """Give the database of a folder to a changed study if it has no answers, and say whether it was so.

    Codes stay. A folder without a database has no answers.
    """
    if not (folder / DATABASE).is_file():
        return True
    with closing(sqlite3.connect(folder / DATABASE)) as base:
        try:
            with base:
                base.execute("BEGIN IMMEDIATE")
                if base.execute("SELECT count(*) FROM answers").fetchone()[0]:
                    return False
                base.execute("UPDATE facts SET value = ? WHERE name = 'study'", (signature,))
        except sqlite3.DatabaseError:
            return False
    return True


class Store:
    """The database of a study. Several threads may use it; several processes must not."""

    def __init__(self, folder: Path, signature: str, new: bool = True) -> None:
        """Open or make the database of a folder.

        Args:
            folder: Folder of the study.
            signature: That of the study. A database of another one is refused.
            new: Whether a database that is missing or empty is made.

        Raises:
            FiglangError: The file is not a database, lacks a table, or is that of another study.
        """
        self._lock = Lock()
        self._path = path = folder / DATABASE
        folders.check_place(path)
        if not new and not path.is_file():
            raise FiglangError(
                f"{path} is missing, so there are no answers; restore it, or choose another folder="
            )
        try:
            path.touch(mode=0o600)  # it holds the codes
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise FiglangError(
                f"{path} cannot be opened ({one_line(error)}); choose another folder="
            ) from error
        try:
            damage = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if damage != "ok":
                raise sqlite3.DatabaseError(damage)
            self._check_tables(new)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=FULL")  # also after a loss of power
            self._connection.executescript(TABLES)
            self._connection.execute("INSERT OR IGNORE INTO facts VALUES ('study', ?)", (signature,))
            found = self._connection.execute("SELECT value FROM facts WHERE name = 'study'").fetchone()[0]
            self.enrol([ORGANISER])
        except (sqlite3.Error, FiglangError) as error:
            self._connection.close()
            raise error if isinstance(error, FiglangError) else self._fault(error) from error
        if found != signature:
            self._connection.close()
            raise FiglangError(
                f"{path} has answers to another study than study.json; put the files of one study together"
            )

    def _check_tables(self, new: bool) -> None:
        """Check that no table is missing: a new one would hide that its answers are lost.

        Raises:
            FiglangError: One is.
        """
        rows = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        missing = sorted(NEEDED - {name for (name,) in rows})
        if missing and (rows or not new):
            raise FiglangError(
                f"{self._path} has no table {missing[0]}, so it is damaged or not a study's; "
                "restore the file, or choose another folder="
            )

    def close(self) -> None:
        """Close the database. Everything in it is on the disk already."""
        self._connection.close()

    @contextmanager
    def _used(self) -> Iterator[sqlite3.Connection]:
        """The connection.

        Raises:
            FiglangError: The database cannot be read or written.
        """
        with self._lock:
            try:
                yield self._connection
            except sqlite3.Error as error:
                raise self._fault(error) from error

    def _fault(self, error: Exception) -> FiglangError:
        return FiglangError(
            f"{self._path} cannot be used ({one_line(error)}); make space on the disk, restore the file, "
            "or choose another folder="
        )

    def enrol(self, names: Sequence[str]) -> None:
        """Give a code to everybody who has none yet."""
        with self._used() as base:
            for name in names:
                base.execute("INSERT OR IGNORE INTO raters VALUES (?, ?)", (name, _code()))

    def codes(self) -> dict[str, str]:
        """The code of everybody by name, the organiser's first, raters in the order of their enrolment."""
        with self._used() as base:
            return dict(base.execute("SELECT name, code FROM raters ORDER BY rowid").fetchall())

    @property
    def joining(self) -> str:
        """The code by which people join with a name of their own."""
        with self._used() as base:
            base.execute("INSERT OR IGNORE INTO facts VALUES ('join', ?)", (_code(),))
            return str(base.execute("SELECT value FROM facts WHERE name = 'join'").fetchone()[0])

    def join(self, name: str) -> str | None:
        """Take a new name and give its code; None if somebody has the name."""
        with self._used() as base:
            made = base.execute("INSERT OR IGNORE INTO raters VALUES (?, ?)", (name, _code())).rowcount
        return self.codes()[name] if made else None

    def enter(self, code: str) -> tuple[str, str] | None:
        """Begin a session. Returns the name behind the code and a token; None for a code that nobody has."""
        typed = "".join(letter for letter in code.lower() if letter in LETTERS)
        known = self.codes()
        # Every code is compared, and each in constant time.
        found = [name for name, own in known.items() if secrets.compare_digest(own.replace("-", ""), typed)]
        if not found:
            return None
        token = secrets.token_urlsafe(32)
        with self._used() as base:
            base.execute("INSERT INTO sessions VALUES (?, ?)", (_hash(token), found[0]))
        return found[0], token

    def who(self, token: str) -> str | None:
        """The name behind a session; None if there is no such session."""
        with self._used() as base:
            row = base.execute("SELECT rater FROM sessions WHERE token = ?", (_hash(token),)).fetchone()
        return None if row is None else str(row[0])

    def leave(self, token: str) -> None:
        """End a session."""
        with self._used() as base:
            base.execute("DELETE FROM sessions WHERE token = ?", (_hash(token),))

    def record(
        self, rater: str, question: str, value: str, confident: bool, seconds: float, sent: str
    ) -> None:
        """Keep an answer. When this returns, it is on the disk.

        Args:
            rater: The name of the rater.
            question: The id of the question.
            value: The answer.
            confident: Whether the rater is sure.
            seconds: How long the question was looked at, this visit.
            sent: A name of this answer. The same one sent again is kept once.
        """
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        with self._used() as base:
            base.execute(
                "INSERT OR IGNORE INTO answers (rater, question, value, confident, seconds, at, sent) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (rater, question, value, int(confident), seconds, now, sent),
            )

    def latest(self) -> list[Answer]:
        """The last answer of every rater to every question, in the order in which they were given."""
        with self._used() as base:
            rows = base.execute(LATEST).fetchall()
        try:
            return [ROW.validate_python(dict(zip(Answer.__annotations__, row, strict=True))) for row in rows]
        except ValidationError as error:
            raise FiglangError(
                f"{self._path} has an answer that no page wrote ({stored.what(error)}); restore the file"
            ) from error

    def latest_of(self, rater: str) -> dict[str, Answer]:
        """The last answers of one rater by question."""
        return {one.question: one for one in self.latest() if one.rater == rater}


def _code() -> str:
    drawn = [secrets.choice(LETTERS) for _ in range(12)]
    return "-".join("".join(drawn[place : place + 4]) for place in (0, 4, 8))


def _hash(token: str) -> str:
    """Sessions are stored as hashes: who reads the file cannot enter by them."""
    return hashlib.sha256(token.encode()).hexdigest()
