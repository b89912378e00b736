"""The server: signing in, the work of one rater, and the organiser's view. Nobody sees another's work."""

import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any
from unicodedata import category
from urllib.parse import SplitResult, urlsplit

from figlang.config import RateServeConfig
from figlang.config.verbs.rate import LOOPBACK, RATER
from figlang.errors import FiglangError, one_line
from figlang.rating.serving import exports, live
from figlang.rating.serving import order as orders
from figlang.rating.serving.store import ORGANISER, Store
from figlang.rating.serving.study import CHOICE, CODES, Study

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

log = logging.getLogger("figlang")

HERE = Path(__file__).parent
FILES = {
    "/": ("rater/page.html", "text/html"),
    "/page.css": ("rater/page.css", "text/css"),
    "/page.js": ("rater/page.js", "text/javascript"),
    "/organiser": ("organiser/page.html", "text/html"),
    "/organiser.js": ("organiser/page.js", "text/javascript"),
}
COOKIE, TOKEN = "figlang_rating", "x-figlang-token"
LARGEST = 32_768  # bytes of a request
LONGEST = 4_000  # characters of a paraphrase
LATEST = 1e12  # seconds; nobody looks at one item for longer
TRIES, WITHIN = 20, 60.0  # how many wrong codes, of all visitors together, are allowed in how many seconds
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class RefusedError(Exception):
    """A request that is not answered: its status and a sentence for the reader of the page."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Pages:
    """The answers to requests about one study."""

    def __init__(self, study: Study, store: Store, folder: Path, config: RateServeConfig) -> None:
        self.study, self.store, self.folder, self.config = study, store, folder, config
        self.instructions = ""
        if config.instructions is not None:
            try:
                self.instructions = Path(config.instructions).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise FiglangError(
                    f"instructions={config.instructions} cannot be read ({one_line(error)}); give a text "
                    "file in UTF-8"
                ) from error
        self.named = study.signature
        self.wrong: list[float] = []  # times of wrong codes
        self.orders: dict[str, list[orders.Shown]] = {}

    def order(self, rater: str) -> list[orders.Shown]:
        """The order of a rater, which is made once."""
        if rater not in self.orders:
            self.orders[rater] = orders.of(self.study, rater)
        return self.orders[rater]

    async def enter(self, request: "Request") -> "Response":
        """Sign in by a code."""
        content = await _content(request)
        self._check_tries()
        found = self.store.enter(str(content.get("code", ""))[:200])
        if found is None:
            self.wrong.append(monotonic())
            raise RefusedError(403, "Nobody has this code. Check it letter by letter.")
        return self._entered(request, *found)

    async def join(self, request: "Request") -> "Response":
        """Sign in with a new name, by the code of the study."""
        content = await _content(request)
        self._check_tries()
        code, name = str(content.get("code", "")), str(content.get("name", ""))
        if not self.config.join or not secrets.compare_digest(code.encode(), self.store.joining.encode()):
            self.wrong.append(monotonic())
            raise RefusedError(403, "This link is not valid. Ask the organiser for another one.")
        if not RATER.fullmatch(name):
            raise RefusedError(
                400, "The name in the link is missing or has other signs than letters and digits."
            )
        own = self.store.join(name)
        if own is None:
            raise RefusedError(409, f"{name} has joined already. Go on with your own code.")
        found = self.store.enter(own)
        assert found is not None
        return self._entered(request, *found, code=own)

    def _check_tries(self) -> None:
        now = monotonic()
        self.wrong = [tried for tried in self.wrong if now - tried < WITHIN]
        if len(self.wrong) >= TRIES:
            raise RefusedError(429, "Too many wrong codes. Wait a minute, then try again.")

    def _entered(self, request: "Request", name: str, token: str, code: str = "") -> "Response":
        response = _json({"role": "organiser" if name == ORGANISER else "rater", "code": code})
        secure = request.url.scheme == "https"
        response.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=secure, path="/")
        return response

    async def leave(self, request: "Request") -> "Response":
        """Sign out."""
        await _content(request)
        self._signed_in(request)
        self.store.leave(request.cookies[COOKIE])
        response = _json({})
        response.delete_cookie(COOKIE, path="/")
        return response

    async def work(self, request: "Request") -> "Response":
        """Everything that a rater's page needs: the rater's order and answers, without ids and models."""
        rater = self.store.who(request.cookies.get(COOKIE, ""))
        if rater is None or rater == ORGANISER:
            return _json({"role": "nobody" if rater is None else "organiser"})
        own, shown = self.store.latest_of(rater), self.order(rater)
        items = []
        for one in shown:
            asked, answer = one.question, own.get(one.question.id)
            options = [asked.options[place] for place in one.options]
            value = None if answer is None else answer.value
            if value is not None and self.study.ask == CHOICE:
                value = str(one.options.index(int(value)))
            item = {"text": asked.text, "mark": asked.mark, "answer": asked.answer, "options": options}
            items.append(item | {"given": value, "confident": answer is None or answer.confident})
        return _json(
            {
                "role": "rater",
                "name": rater,
                "study": self.named,
                "token": _csrf(request),
                "ask": self.study.ask,
                "codes": self.study.codes,
                "items": items,
                "instructions": self.instructions,
                "finished": self.config.finished or "",
            }
        )

    async def answer(self, request: "Request") -> "Response":
        """Keep an answer: it is on the disk before the reply."""
        content = await _content(request)
        rater = self._signed_in(request, ORGANISER)
        shown = self.order(rater)
        place, seconds = content.get("place"), content.get("seconds")
        if not isinstance(place, int) or isinstance(place, bool) or not 0 <= place < len(shown):
            raise RefusedError(400, "There is no such item.")
        # A comparison with nan is false.
        if not isinstance(seconds, int | float) or not abs(seconds) < LATEST:
            raise RefusedError(400, "The time is not a number.")
        one = shown[place]
        value = self._value(one, content.get("value"))
        sent = str(content.get("sent", ""))[:64] or secrets.token_hex(8)
        confident = content.get("confident") is not False
        self.store.record(rater, one.question.id, value, confident, min(max(seconds, 0.0), 86_400.0), sent)
        return _json({"place": place})

    def _value(self, one: orders.Shown, given: Any) -> str:
        """An answer as it is stored."""
        if not isinstance(given, str):
            raise RefusedError(400, "The answer is missing.")
        if self.study.ask == CODES:
            if given not in self.study.codes:
                raise RefusedError(400, f"{given[:40]!r} is not a code of this study.")
            return given
        if self.study.ask == CHOICE:
            places = {str(place): option for place, option in enumerate(one.options)}
            if given not in places:
                raise RefusedError(400, "There is no such option.")
            return str(places[given])
        # Control characters are not words. Joiners are kept, because some scripts need them.
        text = " ".join("".join(sign for sign in given if category(sign) != "Cc" or sign.isspace()).split())
        if not text or len(text) > LONGEST:
            raise RefusedError(400, f"Write between 1 and {LONGEST} characters.")
        return text

    async def live(self, request: "Request") -> "Response":
        """The organiser's view of the study."""
        from starlette.concurrency import run_in_threadpool

        self._signed_in(request, None)
        codes = self.store.codes()
        raters = [name for name in codes if name != ORGANISER]
        found = await run_in_threadpool(live.content, self.study, self.folder, raters, self.store.latest())
        for row in found["raters"]:
            row["code"] = codes[row["rater"]]
        made = await run_in_threadpool(exports.files, self.study, self.store, self.config.finished)
        return _json(found | {"role": "organiser", "token": _csrf(request), "files": list(made)})

    async def export(self, request: "Request") -> "Response":
        """One file of the exports."""
        from starlette.responses import Response

        self._signed_in(request, None)
        name = request.path_params["name"]
        made = exports.files(self.study, self.store, self.config.finished)
        if name not in made:
            raise RefusedError(404, "There is no such file.")
        disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(made[name].encode(), media_type="application/octet-stream", headers=disposition)

    def _signed_in(self, request: "Request", other: str | None = "-") -> str:
        """The name of the person who makes a request.

        `other` is refused: the organiser, or any rater if it is None.
        """
        name = self.store.who(request.cookies.get(COOKIE, ""))
        if name is None:
            raise RefusedError(401, "Sign in first.")
        if name == other or (other is None and name != ORGANISER):
            raise RefusedError(403, "This is not yours to see.")
        if request.method == "POST" and not secrets.compare_digest(
            request.headers.get(TOKEN, "").encode(), _csrf(request).encode()
        ):
            raise RefusedError(403, "This request did not come from the page. Load the page again.")
        return name


def application(pages: Pages, hosts: tuple[str, ...] = ()) -> "Starlette":
    """The application of a study. `hosts` are names of the page besides those of this machine."""
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    allowed = {name.lower() for name in (*LOOPBACK, *hosts)}

    def guarded(
        inner: Callable[["Request"], Awaitable["Response"]],
    ) -> Callable[["Request"], Awaitable["Response"]]:
        async def answered(request: "Request") -> "Response":
            try:
                _check_origin(request, allowed)
                response = await inner(request)
            except RefusedError as refused:
                response = _json({"error": str(refused)}, refused.status)
            except FiglangError as error:  # of the database: a full disk, for example
                log.error("%s", error)
                response = _json(
                    {"error": "The server could not keep or read answers. Tell the organiser."}, 503
                )
            response.headers.update(HEADERS)
            return response

        return answered

    def of_file(name: str, kind: str) -> Callable[["Request"], Awaitable["Response"]]:
        async def sent(request: "Request") -> "Response":
            return Response((HERE / name).read_bytes(), media_type=kind)

        return sent

    posts = {"enter": pages.enter, "join": pages.join, "leave": pages.leave, "answer": pages.answer}
    gets = {"work": pages.work, "live": pages.live, "export/{name}": pages.export}
    return Starlette(
        routes=[
            *(Route(path, guarded(of_file(*each)), methods=["GET"]) for path, each in FILES.items()),
            *(Route(f"/api/{path}", guarded(each), methods=["POST"]) for path, each in posts.items()),
            *(Route(f"/api/{path}", guarded(each), methods=["GET"]) for path, each in gets.items()),
        ]
    )


def _check_origin(request: "Request", allowed: set[str]) -> None:
    """Refuse other names of this machine (DNS rebinding) and requests that another page makes."""
    host = request.headers.get("host", "")
    if (_split(f"//{host}").hostname or "") not in allowed:
        raise RefusedError(400, "The page has no such name; the organiser can add it by names=[HOST].")
    if request.method != "POST":
        return
    origin = request.headers.get("origin")
    if origin is not None and _split(origin).netloc.lower() != host.lower():
        raise RefusedError(403, "This request comes from another page.")
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise RefusedError(415, "Send JSON.")


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError as error:
        raise RefusedError(400, "The request has an address that is not valid.") from error


async def _content(request: "Request") -> Mapping[str, Any]:
    """The JSON object in a request."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST:
            raise RefusedError(413, "The request is too large.")
    try:
        content = json.loads(body)
        json.dumps(content, ensure_ascii=False).encode()  # half a pair of UTF-16 cannot be stored
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, "The request is not JSON.") from error
    if not isinstance(content, dict):
        raise RefusedError(400, "The request is not an object.")
    return content


def _csrf(request: "Request") -> str:
    """A word that only a page with this session knows: made of the cookie, which no script can read."""
    return sha256(f"figlang {request.cookies.get(COOKIE, '')}".encode()).hexdigest()


def _json(content: Mapping[str, Any], status: int = 200) -> "Response":
    from starlette.responses import Response

    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    return Response(text.encode(), status, media_type="application/json")
