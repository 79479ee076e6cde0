"""Serves the baseline in process: an httpx2 transport that answers the chat-completions protocol.

Knows: two routes and their JSON. Must not know: how a reply is thought up.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import cast

import httpx2

BASE_URL = "http://baseline.invalid/v1"
"""Never resolved: `.invalid` cannot exist (RFC 2606), so a client without this transport fails at once."""

Reply = Callable[[Mapping[str, object]], dict[str, object]]


class BaselineTransport(httpx2.AsyncBaseTransport):
    """Answers `/chat/completions` with `reply(body)`, and `/models` with one model."""

    def __init__(self, reply: Reply, model: str, context_tokens: int = 262_144) -> None:
        self._reply = reply
        self._models = {
            "object": "list",
            "data": [{"id": model, "object": "model", "owned_by": "pincite", "max_model_len": context_tokens}],
        }

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The reply; a ValueError of the replier (a prompt that it cannot read) becomes HTTP 400, as a server would."""
        if request.url.path.endswith("/models"):
            return _json(200, self._models)
        try:
            body: object = json.loads(await request.aread())
            if not isinstance(body, dict):
                raise ValueError("the body must be a JSON object")
            return _json(200, self._reply(cast(Mapping[str, object], body)))
        except ValueError as error:
            return _json(400, {"error": {"message": str(error), "type": "invalid_request_error", "code": 400}})


def _json(status: int, value: object) -> httpx2.Response:
    return httpx2.Response(
        status,
        headers={"content-type": "application/json"},
        content=json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"),
    )
