"""Requests to an OpenAI-compatible endpoint.

Many requests are in flight at a time. Each answer is stored when it arrives, and no request is sent twice.
The `openai` package handles time-outs, retries with exponential backoff and jitter, and Retry-After.
"""

import asyncio
import json
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import MofNCompleteColumn, TextColumn

from figlang.config import ModelConfig
from figlang.config.signature import digest
from figlang.errors import FiglangError, one_line
from figlang.machine import bars
from figlang.models.served.cost import ENOUGH, PROBES, Meter
from figlang.models.served.refusal import FILTER, FILTERED, Answer, EndpointError, refusal, refused
from figlang.models.served.store import Call, Store

if TYPE_CHECKING:
    import ssl

    import httpx2
    import openai

log = logging.getLogger("figlang")

Unusable = Callable[[Call, Answer], str | None]
CONNECT = 10.0  # seconds after which a server that does not connect counts as missing
# OpenAI's reasoning models answer with status 400 and these words if they reach the limit of tokens before
# they reply. Other models give an empty reply that is cut.
CUT = "output limit was reached"
SILENCE: Answer = {"choices": [{"message": {"content": ""}, "finish_reason": "length"}]}


class Client:
    """The endpoint of a model, with the file that holds its answers.

    The key is read from the environment when a connection is made. It is not kept anywhere.

    Args:
        model: Settings of the model.
        cache: Folder below which the answers are stored.

    Raises:
        FiglangError: If the package openai is not installed.
    """

    def __init__(self, model: ModelConfig, cache: str) -> None:
        try:
            import openai  # noqa: F401, only who asks an endpoint pays for this import
        except ModuleNotFoundError as error:
            raise FiglangError(
                "model=served needs the openai package; install it with `pip install figlang[served]`"
            ) from error
        self.model = model
        self.meter = Meter(model)
        name = f"{model.name}-{digest([model.base_url, model.name_or_path])}.jsonl"
        self.store = Store(Path(cache).expanduser() / "served" / name)

    def attempt(self, call: Call, retries: int = 1) -> Answer:
        """Send one request whose answer is not stored, although it costs money.

        Raises:
            EndpointError: If the endpoint refuses it.
        """
        answer = asyncio.run(self._once(call, retries))
        self.meter.add(call, answer)
        return answer

    def models(self) -> list[str]:
        """The names of the models that the endpoint lists; empty if it lists none."""

        async def listed() -> list[str]:
            async with self._connect(retries=1) as api:
                return [model.id async for model in api.models.list()]

        with suppress(Exception):  # an answer of another shape lists no models that can be read
            return asyncio.run(listed())
        return []

    def ask(
        self, calls: Sequence[Call], unusable: Unusable, progress: bool = False, task: str = "asking"
    ) -> list[Answer]:
        """The answers to all requests, in their order.

        Only requests without a stored answer are sent, each once. An error ends the asking. Requests in
        flight are then waited for, and their answers stored. A prompt that a content filter refuses is not an
        error: its answer is `refused`.

        Args:
            calls: The requests.
            unusable: Says why an answer cannot be used, or None. A new answer that cannot be used is an
                error. A stored one is asked for again.
            progress: Show a bar.
            task: Text of the bar.

        Raises:
            FiglangError: After an error. Answers that are stored are not asked for again.
        """
        with self.store as store:
            wanted = {call.key: call for call in calls}
            missing = [
                call for call in wanted.values() if call not in store or _useless(call, store[call], unusable)
            ]
            if useless := sum(call in store for call in missing):
                log.warning(
                    "%d answers stored in %s cannot be used and are asked for again", useless, store.path
                )
            if store.damaged:
                log.warning("%d damaged lines skipped in %s", store.damaged, store.path)
            if missing:
                self._announce(len(wanted), missing)
                try:
                    asyncio.run(self._all(missing, unusable, progress, task))
                except KeyboardInterrupt:
                    raise FiglangError(self._resumable("interrupted", wanted)) from None
                except FiglangError as error:
                    raise FiglangError(self._resumable(str(error), wanted)) from error
            else:
                log.info(
                    "all %d answers are already stored in %s; no request is sent", len(wanted), store.path
                )
            answers = {key: store[call] for key, call in wanted.items()}
            for key, answer in answers.items():
                self.meter.use(wanted[key], answer)
            self._count_refused(list(answers.values()))
            return [store[call] for call in calls]

    def _count_refused(self, answers: Sequence[Answer]) -> None:
        if refusals := [answer for answer in answers if refused(answer)]:
            log.warning(
                "%d of %d prompts were refused by a content filter of %s and count as invalid (%s)",
                *(len(refusals), len(answers), self.model.base_url, refusals[0].get("refusal", FILTERED)),
            )

    def _announce(self, wanted: int, missing: Sequence[Call]) -> None:
        sent, received = self.meter.estimate(missing)
        most = self.model.max_cost
        probed = f"{sent:,} tokens in; {PROBES} of them are sent first, to estimate the cost"
        log.info(
            "%d requests to %s (%d more are stored), about %s",
            len(missing),
            self.model.base_url,
            wanted - len(missing),
            self.meter.says(sent, received, most=True) if len(missing) < ENOUGH else probed,
        )
        if most is not None and self.meter.cost + self.meter.price(sent, 0) > most:
            raise FiglangError(
                f"reading the prompts alone would cost about {self.meter.price(sent, 0):.4g} "
                f"{self.model.currency}, more than model.max_cost={most:g}; raise it, or ask for fewer "
                "items with data.limit"
            )

    def _resumable(self, message: str, wanted: Mapping[str, Call]) -> str:
        stored = sum(call in self.store for call in wanted.values())
        return (
            f"{message} ({stored} of {len(wanted)} answers are stored; the same command resumes from there)"
        )

    async def _once(self, call: Call, retries: int) -> Answer:
        async with self._connect(retries) as api:
            return await self._post(api, call)

    async def _all(self, calls: Sequence[Call], unusable: Unusable, progress: bool, task: str) -> None:
        probes = calls[:: len(calls) // PROBES][:PROBES] if len(calls) >= ENOUGH else ()
        probing = {call.key for call in probes}
        rest = [call for call in calls if call.key not in probing]
        with bars.progress(progress, MofNCompleteColumn(), TextColumn("{task.fields[rate]}")) as bar:
            number = bar.add_task(task, total=len(calls), rate="")

            def arrived() -> None:
                bar.advance(number)
                if speed := bar.tasks[0].speed:
                    bar.update(number, rate=f"{speed:.1f}/s")

            if probes:
                await _Run(self, probes, unusable).finish(arrived)
                self._expect(calls, probes)
            await _Run(self, rest, unusable).finish(arrived)

    def _expect(self, calls: Sequence[Call], probes: Sequence[Call]) -> None:
        answers = [(call, self.store[call]) for call in probes]
        if expected := self.meter.expect(calls, answers):
            log.info("by the replies to %d of them, all %d take about %s", len(probes), len(calls), expected)

    def _connect(self, retries: int, tls: "ssl.SSLContext | None" = None) -> "openai.AsyncOpenAI":
        import httpx2
        import openai

        # httpx takes proxies from the environment. A missing key is sent as a word, because the package
        # requires one.
        return openai.AsyncOpenAI(
            base_url=self.model.base_url,
            api_key=self._key() or "none",
            timeout=httpx2.Timeout(self.model.timeout, connect=min(CONNECT, self.model.timeout)),
            max_retries=retries,
            http_client=openai.DefaultAsyncHttpxClient(
                event_hooks={"response": [_whole]}, verify=tls or httpx2.create_ssl_context()
            ),
        )

    def _key(self) -> str | None:
        key = os.environ.get(self.model.key_env)
        if key and not re.fullmatch(
            "[!-~]+", key
        ):  # the header code that refuses such a key would repeat it in another spelling
            raise FiglangError(
                f"the environment variable {self.model.key_env} holds white space or characters beyond "
                "ASCII, which a key cannot have (perhaps a line break at its end); set it again"
            )
        return key

    async def _post(self, api: "openai.AsyncOpenAI", call: Call) -> Answer:
        import httpx2
        import openai

        try:
            response = await api.post(f"/{call.route}", body=dict(call.body), cast_to=httpx2.Response)
        except openai.APIError as error:
            if isinstance(error, openai.BadRequestError) and CUT in str(error):
                return dict(SILENCE)
            raise self._explained(error) from None
        answer: Answer = response.json()
        if not answer.get("choices"):  # some routers wrap the error of another server into an answer
            said = self._without_key(one_line(Exception(answer.get("error") or answer)))
            filtered = FILTER.search(json.dumps(answer)) is not None
            raise EndpointError(
                f"{self.model.base_url} answers without choices: {said}", response.status_code, filtered
            )
        return answer

    def _explained(self, error: "openai.APIError") -> EndpointError:
        """Turn an error of the package into one line that says what to do, without the key."""
        import openai

        where = self.model.base_url
        # The package's own message does not tell what broke a connection, or what a server says that does not
        # use JSON.
        inner = error.__cause__ if isinstance(error, openai.APIConnectionError) else None
        page = Exception(error.body) if isinstance(error.body, str) and error.body else None
        said = self._without_key(one_line(inner or page or error))
        if isinstance(error, openai.APITimeoutError):
            return EndpointError(
                f"{where} gave no answer within model.timeout={self.model.timeout:g} seconds; is it "
                "overloaded?",
                None,
            )
        if isinstance(error, openai.APIConnectionError):
            return EndpointError(f"{where} cannot be asked ({said}); is the server running?", None)
        status = getattr(error, "status_code", None)
        if status in (400, 403, 422, 451) and FILTER.search(f"{error} {error.body}"):
            return EndpointError(f"{where} answers {status}: {said}", status, filtered=True)
        if status in (401, 403):
            state = "refuses the key in" if self._key() else "needs a key, but none is in"
            return EndpointError(
                f"{where} {state} the environment variable {self.model.key_env} ({status}); set it there",
                status,
            )
        if status == 429:
            return EndpointError(
                f"{where} still says that there are too many requests (429: {said}); lower "
                "model.concurrency, or try later",
                status,
            )
        return EndpointError(f"{where} answers {status}: {said}", status)

    def _without_key(self, said: str) -> str:
        key = self._key()
        return said.replace(key, "…") if key else said


class _Run:
    """The requests of one command: `concurrency` at a time, and none is begun after the first failure."""

    def __init__(self, client: Client, calls: Sequence[Call], unusable: Unusable) -> None:
        self._client = client
        self._waiting: Iterator[Call] = iter(calls)
        self._workers = min(client.model.concurrency, len(calls))
        self._unusable = unusable
        self._flying: list[Call] = []
        self._landed = asyncio.Condition()
        self._stopped = False
        self._failures: list[FiglangError] = []

    async def finish(self, arrived: Callable[[], None]) -> None:
        import httpx2

        tls = httpx2.create_ssl_context()  # it takes a while to make
        workers = asyncio.gather(*(self._connected(tls, arrived) for _ in range(self._workers)))
        try:
            await asyncio.shield(workers)
        except asyncio.CancelledError:
            # Ctrl-C: requests in flight are paid for, so their answers are waited for; a second Ctrl-C ends
            # that.
            self._stopped = True
            log.warning(
                "interrupted: waiting for %d requests in flight; interrupt again to give them up",
                len(self._flying),
            )
            await workers
            raise
        if self._failures:
            raise self._failures[0]

    async def _connected(self, tls: "ssl.SSLContext", arrived: Callable[[], None]) -> None:
        """Work with a connection of its own, which is closed at the end of this worker's requests.

        Some servers read one connection at a time. As long as an idle one is open, they answer no other,
        until those requests time out.
        """
        async with self._client._connect(self._client.model.retries, tls) as api:
            await self._work(api, arrived)

    async def _work(self, api: "openai.AsyncOpenAI", arrived: Callable[[], None]) -> None:
        for call in self._waiting:
            try:
                await self._afford(call)
                if self._stopped:
                    return
                self._flying.append(call)
                try:
                    answer = await self._client._post(api, call)
                except EndpointError as error:
                    if not error.filtered:
                        raise
                    answer = refusal(str(error))
                finally:
                    self._flying.remove(call)
                self._keep(call, answer)
            except FiglangError as error:
                self._failures.append(error)
                self._stopped = True
            async with self._landed:
                self._landed.notify_all()
            if self._stopped:
                return
            arrived()

    def _keep(self, call: Call, answer: Answer) -> None:
        if "refusal" not in answer:  # a refusal costs nothing
            self._client.meter.add(call, answer)
        if reason := _useless(call, answer, self._unusable):
            raise FiglangError(f"{self._client.model.base_url}: {reason}")
        self._client.store[call] = answer

    async def _afford(self, call: Call) -> None:
        """Wait until the highest cost of the request, with those in flight, fits below `max_cost`.

        Raises:
            FiglangError: If it will never fit.
        """
        meter, most = self._client.meter, self._client.model.max_cost
        if most is None:
            return

        def fits() -> bool:
            return meter.cost + meter.bound([*self._flying, call]) <= most

        async with self._landed:
            await self._landed.wait_for(lambda: fits() or not self._flying or self._stopped)
        if not fits() and not self._stopped:
            raise FiglangError(
                f"the next request could exceed model.max_cost={most:g}, and {meter.cost:.4g} is spent "
                f"(in {self._client.model.currency}); raise it to continue"
            )


def _useless(call: Call, answer: Answer, unusable: Unusable) -> str | None:
    return None if refused(answer) else unusable(call, answer)


async def _whole(response: "httpx2.Response") -> None:
    """Refuse an answer that is not a JSON object, like a broken connection: the package then asks again."""
    import httpx2

    await response.aread()
    if response.is_success:
        try:
            content = response.json()
        except (ValueError, RecursionError) as error:
            raise httpx2.RemoteProtocolError(f"its answer is not JSON: {one_line(error)}") from error
        if not isinstance(content, dict):
            raise httpx2.RemoteProtocolError(f"its answer is not a JSON object: {response.text[:40]}")
