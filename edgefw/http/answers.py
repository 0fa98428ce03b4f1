"""Answers: text, JSON, and one shape for everything that goes wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Receive, Scope, Send

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
LONGEST_MESSAGE = 400


class Answer:
    """An answer that is at hand as a whole. It is an ASGI app: a route or a guard calls it to send it."""

    def __init__(
        self,
        body: bytes = b"",
        status: int = 200,
        content_type: str | None = JSON,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.body, self.status = body, status
        named = dict(headers or {})
        if content_type is not None:  # else there is no content: 204
            named |= {"Content-Type": content_type, "Content-Length": str(len(body))}
        self.headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in named.items()]

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Send it."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body})


def failure(
    status: int, message: str, field: str | None = None, headers: Mapping[str, str] | None = None
) -> Answer:
    """Return the answer to what cannot be done: one line, and the path of the field if a body is wrong."""
    data: dict[str, Any] = {"error": _cut(" ".join(message.split())), "status": status}
    if field is not None:
        data["field"] = _cut(field)
    return Answer(encoded(data), status, headers=headers)


def encoded(data: Any) -> bytes:
    """Return data as JSON; pure ASCII, so that half of a surrogate pair in a name breaks nothing."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).encode("ascii")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]}..."
