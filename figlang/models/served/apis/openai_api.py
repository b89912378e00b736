"""OpenAI's interface, which most servers have."""

from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Any

from figlang.config import ModelConfig
from figlang.errors import one_line
from figlang.models.served.apis.api import CONNECT, Api, explained, key_of
from figlang.models.served.refusal import Answer
from figlang.models.served.store import Call

if TYPE_CHECKING:
    import httpx2

# OpenAI's reasoning models answer with status 400 and these words if they reach the limit of tokens before
# they reply. Other models give an empty reply that is cut.
CUT = "output limit was reached"
SILENCE: Answer = {"choices": [{"message": {"content": ""}, "finish_reason": "length"}]}


class OpenAIApi(Api):
    """A connection to an OpenAI-compatible server."""

    package = "openai"
    extra = "served"

    def __init__(self, model: ModelConfig, shared: Any = None) -> None:
        super().__init__(model, shared)
        import httpx2
        import openai

        # httpx takes proxies from the environment. A missing key is sent as a word, because the package
        # requires one.
        self._client = openai.AsyncOpenAI(
            base_url=model.base_url,
            api_key=key_of(model) or "none",
            timeout=httpx2.Timeout(model.timeout, connect=min(CONNECT, model.timeout)),
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(
                event_hooks={"response": [whole]}, verify=shared or self.shared()
            ),
        )

    @classmethod
    @cache
    def shared(cls) -> Any:
        import httpx2

        return httpx2.create_ssl_context()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    async def post(self, call: Call) -> Answer:
        import httpx2
        import openai

        try:
            response = await self._client.post(
                f"/{call.route}", body=dict(call.body), cast_to=httpx2.Response
            )
        except openai.APIError as error:
            if isinstance(error, openai.BadRequestError) and CUT in str(error):
                return dict(SILENCE)
            raise explained(self.model, error, openai) from None
        answer: Answer = response.json()
        return answer

    async def models(self) -> list[str]:
        return [model.id async for model in self._client.models.list()]


async def whole(response: "httpx2.Response") -> None:
    """Refuse an answer that is not a JSON object, like a broken connection: it is then asked again."""
    import httpx2

    await response.aread()
    if response.is_success:
        try:
            content = response.json()
        except (ValueError, RecursionError) as error:
            raise httpx2.RemoteProtocolError(f"its answer is not JSON: {one_line(error)}") from error
        if not isinstance(content, dict):
            raise httpx2.RemoteProtocolError(f"its answer is not a JSON object: {response.text[:40]}")
