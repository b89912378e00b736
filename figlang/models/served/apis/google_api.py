"""Google's generateContent, by the `google-genai` package."""

import json
import re
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from figlang.config import ModelConfig
from figlang.errors import one_line
from figlang.models.served.apis.api import CONNECT, Api, key_of, of_status, only_chats, unreached, without_key
from figlang.models.served.apis.openai_api import OpenAIApi, whole
from figlang.models.served.refusal import FILTERED, Answer
from figlang.models.served.store import Call

DELAY = re.compile(r'"retryDelay": "(\d+(?:\.\d+)?)s"')  # the body says when to ask again, and no header does
BLOCKED = {"SAFETY", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "RECITATION", "MODEL_ARMOR"}
ROLES = {"user": "user", "assistant": "model"}


class GoogleApi(Api):
    """A connection to Google's models. Requests and answers have OpenAI's form."""

    package = "google.genai"
    extra = "google"

    def __init__(self, model: ModelConfig, shared: Any = None) -> None:
        super().__init__(model, shared)
        import httpx2
        from google import genai
        from google.genai import types

        base, slash, version = model.base_url.rpartition("/v1")
        if not slash:
            base, version = model.base_url, ""
        self._transport = httpx2.AsyncClient(
            timeout=httpx2.Timeout(model.timeout, connect=min(CONNECT, model.timeout)),
            event_hooks={"response": [whole]},
            verify=shared or self.shared(),
        )
        options = types.HttpOptions(
            base_url=base,
            api_version=f"v1{version}",
            timeout=round(1000 * model.timeout),
            retry_options=types.HttpRetryOptions(attempts=1),
            httpx_async_client=self._transport,
        )
        self._client = genai.Client(api_key=key_of(model) or "none", http_options=options)

    @classmethod
    def shared(cls) -> Any:
        return OpenAIApi.shared()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aio.aclose()
        await self._transport.aclose()

    async def post(self, call: Call) -> Answer:
        from google.genai import errors

        only_chats(self.model, call)
        try:
            answer = await self._client.aio.models.generate_content(**asked(call.body))
        except errors.APIError as error:
            said = without_key(self.model, one_line(Exception(error.message or str(error))))
            raise of_status(self.model, error.code, said, str(error), _headers_of(error)) from None
        except Exception as error:  # the transport raises what it pleases
            raise unreached(self.model, error) from None
        return answer_of(answer.model_dump(mode="json"))


def _headers_of(error: Any) -> dict[str, str]:
    """The headers of an answer that is an error, with the wait that its body asks for."""
    headers = {name.lower(): value for name, value in getattr(error.response, "headers", {}).items()}
    if told := DELAY.search(json.dumps(error.details, default=str)):
        headers.setdefault("retry-after", told[1])
    return headers


def asked(body: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `generate_content` for a request in OpenAI's form."""
    turns = body["messages"]
    system = "\n\n".join(turn["content"] for turn in turns if turn["role"] == "system")
    config: dict[str, Any] = {
        "max_output_tokens": body.get("max_tokens") or body["max_completion_tokens"],
        **{name: body[name] for name in ("temperature", "top_p", "seed") if name in body},
    }
    if system:
        config["system_instruction"] = system
    if "response_format" in body:
        config["response_mime_type"] = "application/json"
        config["response_json_schema"] = body["response_format"]["json_schema"]["schema"]
    if "reasoning_effort" in body:
        config["thinking_config"] = {"thinking_level": str(body["reasoning_effort"]).upper()}
    contents = [
        {"role": ROLES[turn["role"]], "parts": [{"text": turn["content"]}]}
        for turn in turns
        if turn["role"] != "system"
    ]
    return {"model": body["model"], "contents": contents, "config": config}


def answer_of(answer: Mapping[str, Any]) -> Answer:
    """An answer in OpenAI's form.

    A prompt that was blocked has no candidates, and counts as refused. Without candidates and without a block
    it is not a reply: the form has no choices then.
    """
    blocked = (answer.get("prompt_feedback") or {}).get("block_reason")
    candidates = answer.get("candidates") or ([{"finish_reason": "SAFETY"}] if blocked else [])
    if not candidates:
        return {"choices": [], "error": "it has no candidates"}
    first = candidates[0]
    parts = (first.get("content") or {}).get("parts") or []
    text = "".join(str(part.get("text") or "") for part in parts if not part.get("thought"))
    thought = "".join(str(part.get("text") or "") for part in parts if part.get("thought"))
    ended = str(first.get("finish_reason"))
    end = FILTERED if ended in BLOCKED else "length" if ended == "MAX_TOKENS" else "stop"
    took = answer.get("usage_metadata") or {}
    reasoned = took.get("thoughts_token_count") or 0
    return {
        "choices": [
            {
                "message": {"content": text, **({"reasoning_content": thought} if thought else {})},
                "finish_reason": end,
            }
        ],
        "usage": {
            "prompt_tokens": took.get("prompt_token_count") or 0,
            "completion_tokens": (took.get("candidates_token_count") or 0) + reasoned,
            "completion_tokens_details": {"reasoning_tokens": reasoned},
        },
    }
