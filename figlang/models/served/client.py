"""Requests to an OpenAI-compatible endpoint.

Many requests are in flight at a time. Each answer is stored when it arrives, and no request is sent twice.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.progress import MofNCompleteColumn, TextColumn

from figlang.config import ModelConfig
from figlang.config.signature import digest
from figlang.errors import FiglangError, one_line
from figlang.machine import bars
from figlang.models.served import batch
from figlang.models.served.apis.anthropic_api import AnthropicApi
from figlang.models.served.apis.api import Api, without_key
from figlang.models.served.apis.google_api import GoogleApi
from figlang.models.served.apis.openai_api import OpenAIApi
from figlang.models.served.cost import ENOUGH, PROBES, Meter
from figlang.models.served.patience import BUSY, patiently
from figlang.models.served.planning import Plan
from figlang.models.served.refusal import FILTER, FILTERED, Answer, EndpointError, refusal, refused
from figlang.models.served.store import Call, Store
from figlang.text.amounts import counted, form

log = logging.getLogger("figlang")

Unusable = Callable[[Call, Answer], str | None]
APIS: dict[str, type[Api]] = {"openai": OpenAIApi, "anthropic": AnthropicApi, "google": GoogleApi}


class Client:
    """The endpoint of a model, with the file that holds its answers.

    The key is read from the environment when a connection is made. It is not kept anywhere.

    Args:
        model: Settings of the model.
        cache: Folder below which the answers are stored.

    Raises:
        FiglangError: If the package of its interface is not installed.
    """

    def __init__(self, model: ModelConfig, cache: str) -> None:
        self._api = APIS[model.api]
        if not _installed(self._api.package):
            raise FiglangError(
                f"model=served with model.api={model.api} needs the package {self._api.package}; install it "
                f"with `pip install 'figlang[{self._api.extra}]'`"
            )
        self.model = model
        self.meter = Meter(model)
        self.plan = Plan(self.meter)
        # One address can have several interfaces, and what a probe finds is of one of them.
        other = [] if model.api == "openai" else [model.api]
        name = f"{model.name}-{digest([model.base_url, model.name_or_path, *other])}.jsonl"
        self.store = Store(Path(cache).expanduser() / "served" / name)

    def shared(self) -> Any:
        """Objects that all connections of a command can use."""
        return self._api.shared()

    def attempt(self, call: Call) -> Answer:
        """Send one request whose answer is not stored, although it costs money.

        It is sent again once, or `model.retries` times if the server is only busy.

        Args:
            call: The request.

        Raises:
            EndpointError: If the endpoint refuses it.
        """
        answer = asyncio.run(self._once(call))
        self.meter.add(call, answer)
        return answer

    def models(self) -> list[str]:
        """The names of the models that the endpoint lists; empty if it lists none."""

        async def listed() -> list[str]:
            async with self._connect() as api:
                return await api.models()

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
                    "%d %s stored in %s cannot be used; %s asked for again",
                    *(useless, form(useless, "answer"), store.path, form(useless, "it is", "they are")),
                )
            if store.damaged:
                log.warning("%s skipped in %s", counted(store.damaged, "damaged line"), store.path)
            if self.model.dry_run:
                return self._planned(calls, missing)
            if self.model.batch is not None:
                missing = self._batched(
                    Path(self.model.batch), missing, unusable, wanted.keys() | store.keys()
                )
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
                    "every answer is already stored in %s (%d); no request is sent", store.path, len(wanted)
                )
            answers = {key: store[call] for key, call in wanted.items()}
            for key, answer in answers.items():
                self.meter.use(wanted[key], answer)
            self._count_refused(list(answers.values()))
            return [store[call] for call in calls]

    def _planned(self, calls: Sequence[Call], missing: Sequence[Call]) -> list[Answer]:
        """Note the requests, and answer those that are not stored by an assumption."""
        lacking = {call.key for call in missing}
        self.plan.add(missing, [call for call in calls if call.key not in lacking])
        return [self.plan.assumed(call) if call.key in lacking else self.store[call] for call in calls]

    def _batched(
        self, folder: Path, missing: Sequence[Call], unusable: Unusable, known: Collection[str]
    ) -> list[Call]:
        """Read the results of a batch, and write the requests that have none.

        Raises:
            FiglangError: Requests were written. It says what to do with them.
        """
        stored, failed = batch.read(folder, missing, self.store, unusable)
        log.info("%d results of %s are stored", stored, folder)
        if failed:
            some = form(
                len(failed), "request of the batch failed and is", "requests of the batch failed and are"
            )
            log.warning("%d %s written again (%s)", len(failed), some, failed[0])
        left = [
            call for call in missing if call not in self.store or _useless(call, self.store[call], unusable)
        ]
        if left:
            files = ", ".join(map(str, batch.write(folder, left, known)))
            sent, received = self.meter.estimate(left)
            raise FiglangError(
                f"{len(left)} {form(len(left), 'request is', 'requests are')} written, about "
                f"{self.meter.says(sent, received, most=True)}; send "
                f"{files} as a batch, put the file of results into {folder}, and run the same command again"
            )
        return left

    def _count_refused(self, answers: Sequence[Answer]) -> None:
        if refusals := [answer for answer in answers if refused(answer)]:
            log.warning(
                "%d of %d prompts were refused by a content filter of %s (%s)",
                *(len(refusals), len(answers), self.model.base_url, refusals[0].get("refusal", FILTERED)),
            )

    def _announce(self, wanted: int, missing: Sequence[Call]) -> None:
        sent, received = self.meter.estimate(missing)
        most = self.model.max_cost
        probed = f"{sent:,} tokens in; {PROBES} of them are sent first, to estimate the cost"
        log.info(
            "%s to %s (%d more %s stored), about %s",
            counted(len(missing), "request"),
            self.model.base_url,
            wanted - len(missing),
            form(wanted - len(missing), "is", "are"),
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

    async def _once(self, call: Call) -> Answer:
        async with self._connect() as api:
            return await self.post(api, call, lambda error: self.model.retries if error.status in BUSY else 1)

    async def post(
        self,
        api: Api,
        call: Call,
        retries: Callable[[EndpointError], int],
        stopped: asyncio.Event | None = None,
    ) -> Answer:
        """Send one request, again if that can help.

        Args:
            api: The connection.
            call: The request.
            retries: How often it is sent again after an error.
            stopped: Ends the waiting between tries.

        Raises:
            EndpointError: The server refuses it, or its answer has no choices.
        """
        answer = await patiently(lambda: api.post(call), retries, stopped)
        if not answer.get("choices"):  # some routers wrap the error of another server into an answer
            said = without_key(self.model, one_line(Exception(answer.get("error") or answer)))
            filtered = FILTER.search(json.dumps(answer)) is not None
            raise EndpointError(f"{self.model.base_url} answers without choices: {said}", 200, filtered)
        return answer

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

    def _connect(self, shared: Any = None) -> Api:
        return self._api(self.model, shared)


def _installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # a part of a package that is not there
        return False


class _Run:
    """The requests of one command: `concurrency` at a time, and none is begun after the first failure."""

    def __init__(self, client: Client, calls: Sequence[Call], unusable: Unusable) -> None:
        self._client = client
        self._waiting: Iterator[Call] = iter(calls)
        self._workers = min(client.model.concurrency, len(calls))
        self._unusable = unusable
        self._flying: list[Call] = []
        self._landed = asyncio.Condition()
        self._stopped = asyncio.Event()
        self._failures: list[FiglangError] = []

    async def finish(self, arrived: Callable[[], None]) -> None:
        shared = self._client.shared()
        workers = asyncio.gather(*(self._connected(shared, arrived) for _ in range(self._workers)))
        try:
            await asyncio.shield(workers)
        except asyncio.CancelledError:
            # Ctrl-C: requests in flight are paid for, so their answers are waited for; a second Ctrl-C ends
            # that. One that failed is not sent again.
            self._stopped.set()
            log.warning(
                "interrupted: waiting for %s in flight; interrupt again to give up",
                counted(len(self._flying), "request"),
            )
            await workers
            raise
        if self._failures:
            raise self._failures[0]

    async def _connected(self, shared: Any, arrived: Callable[[], None]) -> None:
        """Work with a connection of its own, which is closed at the end of this worker's requests.

        Some servers read one connection at a time. As long as an idle one is open, they answer no other,
        until those requests time out.
        """
        async with self._client._connect(shared) as api:
            await self._work(api, arrived)

    async def _work(self, api: Api, arrived: Callable[[], None]) -> None:
        retries = self._client.model.retries
        for call in self._waiting:
            try:
                await self._afford(call)
                if self._stopped.is_set():
                    return
                self._flying.append(call)
                try:
                    answer = await self._client.post(api, call, lambda error: retries, self._stopped)
                except EndpointError as error:
                    if not error.filtered:
                        raise
                    answer = refusal(str(error))
                finally:
                    self._flying.remove(call)
                self._keep(call, answer)
            except FiglangError as error:
                self._failures.append(error)
                self._stopped.set()
            async with self._landed:
                self._landed.notify_all()
            if self._stopped.is_set():
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
            await self._landed.wait_for(lambda: fits() or not self._flying or self._stopped.is_set())
        if not fits() and not self._stopped.is_set():
            raise FiglangError(
                f"the next request could exceed model.max_cost={most:g}, and {meter.cost:.4g} is spent "
                f"(in {self._client.model.currency}); raise it to continue"
            )


def _useless(call: Call, answer: Answer, unusable: Unusable) -> str | None:
    return None if refused(answer) else unusable(call, answer)
