"""Stub servers that speak Anthropic's and Google's wire formats; see stub_server.py."""

import json
from dataclasses import dataclass
from typing import Any

from tests.stub_server import MODEL, Stub


@dataclass
class AnthropicStub(Stub):
    """Anthropic's messages. A reply that begins with `<think>` has its reasoning in a block of its own."""

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, str], str]:
        if faulty := self.fault(self, body):
            return faulty
        if path.partition("?")[0] != "/v1/messages":
            return _error(404, "not_found_error", "Not found")
        if body["model"] != MODEL:
            return _error(404, "not_found_error", f"model: {body['model']}")
        thought, text = divided(self.reply(body["messages"][-1]["content"]))
        blocks = [{"type": "thinking", "thinking": thought, "signature": "s"}] if thought else []
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [*blocks, {"type": "text", "text": text}],
            "stop_reason": "end_turn" if text else "max_tokens",
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 2},
        }
        return 200, {}, json.dumps(message)


@dataclass
class GoogleStub(Stub):
    """Google's generateContent. The reply `blocked` has no candidates."""

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, str], str]:
        if faulty := self.fault(self, body):
            return faulty
        if path.partition("?")[0] != f"/v1beta/models/{MODEL}:generateContent":
            error = {"code": 404, "message": f"{path} is not found", "status": "NOT_FOUND"}
            return 404, {}, json.dumps({"error": error})
        reply = self.reply(body["contents"][-1]["parts"][0]["text"])
        used = {"promptTokenCount": 10, "candidatesTokenCount": 2, "thoughtsTokenCount": 5}
        if reply == "blocked":
            blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": used}
            return 200, {}, json.dumps(blocked)
        thought, text = divided(reply)
        parts = [{"text": thought, "thought": True}] if thought else []
        content = {"role": "model", "parts": [*parts, {"text": text}]}
        candidate = {"content": content, "finishReason": "STOP" if text else "MAX_TOKENS", "index": 0}
        return 200, {}, json.dumps({"candidates": [candidate], "usageMetadata": used})


def divided(reply: str) -> tuple[str, str]:
    """The reasoning of a reply, and the rest."""
    thought, closed, text = reply.removeprefix("<think>").partition("</think>")
    return (thought, text) if closed else ("", reply)


def _error(status: int, kind: str, message: str) -> tuple[int, dict[str, str], str]:
    return status, {}, json.dumps({"type": "error", "error": {"type": kind, "message": message}})
