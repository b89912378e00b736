"""A connection to a server, whichever interface it has: requests and answers have OpenAI's form."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import TracebackType
from typing import Any, ClassVar

from figlang.config import ModelConfig
from figlang.errors import FiglangError, one_line
from figlang.models.served.patience import passes, wanted
from figlang.models.served.refusal import FILTER, Answer, EndpointError
from figlang.models.served.store import Call

CONNECT = 10.0  # seconds after which a server that does not connect counts as missing


class Api(ABC):
    """A connection, which is closed when the block that enters it ends.

    Args:
        model: Settings of the model.
        shared: What the connections of one command share (`shared`).
    """

    package: ClassVar[str]
    """The package that speaks this interface. It is imported when a connection is made."""
    extra: ClassVar[str]
    """The extra of figlang that installs it."""

    def __init__(self, model: ModelConfig, shared: Any = None) -> None:
        self.model = model

    @classmethod
    def shared(cls) -> Any:
        """Objects that take a while to make, and that all connections can use."""
        return None

    async def __aenter__(self) -> "Api":
        return self

    @abstractmethod
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @abstractmethod
    async def post(self, call: Call) -> Answer:
        """Send a request once.

        Raises:
            EndpointError: The server refuses it or cannot be asked.
        """

    async def models(self) -> list[str]:
        """The names of the models that the server lists; empty if it lists none."""
        return []


def key_of(model: ModelConfig) -> str | None:
    """The key of an endpoint, from the environment.

    Raises:
        FiglangError: It holds characters that a key cannot have.
    """
    key = os.environ.get(model.key_env)
    if key and not re.fullmatch("[!-~]+", key):  # the header code that refuses it would repeat it
        raise FiglangError(
            f"the environment variable {model.key_env} holds white space or characters beyond "
            "ASCII, which a key cannot have (perhaps a line break at its end); set it again"
        )
    return key


def without_key(model: ModelConfig, said: str) -> str:
    """The words of a server without the key."""
    key = key_of(model)
    return said.replace(key, "…") if key else said


def explained(model: ModelConfig, error: Exception, package: Any) -> EndpointError:
    """Turn an error of a package into one line that says what to do, without the key.

    Args:
        model: Settings of the model.
        error: The error.
        package: `openai` or `anthropic`, whose errors have the same names.
    """
    # The package's own message does not tell what broke a connection, or what a server says that does not
    # use JSON.
    if isinstance(error, package.APIConnectionError):
        return unreached(model, error.__cause__ or error)
    body = getattr(error, "body", None)
    page = Exception(body) if isinstance(body, str) and body else None
    said = without_key(model, one_line(page or error))
    headers = getattr(getattr(error, "response", None), "headers", {})
    return of_status(model, getattr(error, "status_code", None), said, f"{error} {body}", headers)


def unreached(model: ModelConfig, error: BaseException) -> EndpointError:
    """An error without an answer that can be read: what is in the way of the connection.

    Args:
        model: Settings of the model.
        error: The error of the transport.
    """
    import httpx2

    where, again = model.base_url, isinstance(error, httpx2.TransportError | OSError)
    if isinstance(error, httpx2.TimeoutException) and not isinstance(error, httpx2.ConnectTimeout):
        return EndpointError(
            f"{where} gave no answer within model.timeout={model.timeout:g} seconds; is it overloaded?",
            None,
            again=again,
        )
    said = without_key(model, one_line(error))
    return EndpointError(f"{where} cannot be asked ({said}); is the server running?", None, again=again)


def of_status(
    model: ModelConfig,
    status: int | None,
    said: str,
    whole: str,
    headers: Mapping[str, str],
) -> EndpointError:
    """An error by its HTTP status.

    Args:
        model: Settings of the model.
        status: The status; None without an answer.
        said: The words of the server on one line, without the key.
        whole: All that it said, in which the words of content filters are looked for.
        headers: The headers of its answer, which may say whether and when to ask again.
    """
    where, again, after = model.base_url, passes(status, headers), wanted(headers)
    if status in (400, 403, 422, 451) and FILTER.search(whole):
        return EndpointError(f"{where} answers {status}: {said}", status, filtered=True)
    if status == 403 and key_of(model):  # often a model or a place that the key is not for
        return EndpointError(
            f"{where} refuses access (403: {said}); the key in the environment variable {model.key_env} may "
            "not be for this model",
            status,
        )
    if status in (401, 403):
        state = "refuses the key in" if key_of(model) else "needs a key, but none is in"
        return EndpointError(
            f"{where} {state} the environment variable {model.key_env} ({status}); set it there", status
        )
    if status == 429:
        return EndpointError(
            f"{where} still says that there are too many requests (429: {said}); lower "
            "model.concurrency, or try later",
            status,
            again=again,
            after=after,
        )
    return EndpointError(f"{where} answers {status}: {said}", status, again=again, after=after)


def only_chats(model: ModelConfig, call: Call) -> None:
    """Refuse requests that an interface lacks.

    Args:
        model: Settings of the model.
        call: The request.

    Raises:
        EndpointError: With status 404 for completions, and 400 for fields that it lacks.
    """
    if call.route != "chat/completions":
        raise EndpointError(f"model.api={model.api} has a chat only", 404)
    for name in ("logprobs", "guided_choice", "structured_outputs", "chat_template_kwargs"):
        if call.body.get(name):
            raise EndpointError(
                f"model.api={model.api} has no {name}; use another protocol, or leave the setting out", 400
            )
