"""Anthropic's messages, by the `anthropic` package."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from figlang.config import ModelConfig
from figlang.models.served.apis.api import CONNECT, Api, explained, key_of, only_chats
from figlang.models.served.apis.openai_api import OpenAIApi, whole
from figlang.models.served.refusal import FILTERED, Answer
from figlang.models.served.store import Call

ENDS = {"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": FILTERED}
# Fields of a request that are translated, or that have no counterpart (a seed).
TRANSLATED = {
    *("model", "messages", "max_tokens", "max_completion_tokens", "seed"),
    *("reasoning_effort", "response_format"),
}
SAMPLING = ("temperature", "top_p")


class AnthropicApi(Api):
    """A connection to Anthropic's messages. Requests and answers have OpenAI's form."""

    package = "anthropic"
    extra = "anthropic"

    def __init__(self, model: ModelConfig, shared: Any = None) -> None:
        super().__init__(model, shared)
        import anthropic
        import httpx2

        self._client = anthropic.AsyncAnthropic(
            base_url=model.base_url.removesuffix("/v1"),
            api_key=key_of(model) or "none",
            timeout=httpx2.Timeout(model.timeout, connect=min(CONNECT, model.timeout)),
            max_retries=0,
            http_client=anthropic.DefaultAsyncHttpxClient(
                event_hooks={"response": [whole]}, verify=shared or self.shared()
            ),
        )

    @classmethod
    def shared(cls) -> Any:
        return OpenAIApi.shared()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    async def post(self, call: Call) -> Answer:
        import anthropic

        only_chats(self.model, call)
        try:
            message = await self._client.messages.create(**asked(call.body))
        except anthropic.APIError as error:
            raise explained(self.model, error, anthropic) from None
        return answer_of(message.model_dump(mode="json"))

    async def models(self) -> list[str]:
        return [model.id async for model in self._client.models.list()]


def asked(body: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `messages.create` for a request in OpenAI's form."""
    turns = body["messages"]
    system = "\n\n".join(turn["content"] for turn in turns if turn["role"] == "system")
    output: dict[str, Any] = {}
    if "response_format" in body:
        schema = body["response_format"]["json_schema"]["schema"]
        output["format"] = {"type": "json_schema", "schema": schema}
    if "reasoning_effort" in body:
        output["effort"] = body["reasoning_effort"]
    # The package has no arguments for fields that newer models refuse, such as the temperature.
    further = {name: value for name, value in body.items() if name not in TRANSLATED}
    if {"temperature", "top_p"} <= further.keys():  # many models take one of the two; both are 1 by default
        further = {name: value for name, value in further.items() if name not in SAMPLING or value != 1}
    return {
        "model": body["model"],
        "messages": [turn for turn in turns if turn["role"] != "system"],
        "max_tokens": body.get("max_tokens") or body["max_completion_tokens"],
        **({"system": system} if system else {}),
        **({"output_config": output} if output else {}),
        **({"extra_body": further} if further else {}),
    }


def answer_of(message: Mapping[str, Any]) -> Answer:
    """An answer in OpenAI's form.

    Without a list of blocks it is not a reply. It may be the error of a router, for example. The form has no
    choices then.
    """
    content = message.get("content")
    if not isinstance(content, list):
        return {"choices": [], "error": message.get("error") or "it has no content"}
    blocks = [block for block in content if isinstance(block, Mapping)]
    text = "".join(str(block.get("text") or "") for block in blocks if block.get("type") == "text")
    thought = "".join(str(block.get("thinking") or "") for block in blocks if block.get("type") == "thinking")
    said: dict[str, Any] = {"content": text, **({"reasoning_content": thought} if thought else {})}
    took = message.get("usage") or {}
    read = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return {
        "choices": [{"message": said, "finish_reason": ENDS.get(str(message.get("stop_reason")), "stop")}],
        "usage": {
            "prompt_tokens": sum(took.get(name) or 0 for name in read),
            "completion_tokens": took.get("output_tokens") or 0,
        },
    }
