"""Answers of the admin endpoint: JSON, and one shape for everything that goes wrong."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_MESSAGE = 400


def answer(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer in JSON."""
    return Response(encoded(data), status, headers, media_type="application/json")


def encoded(data: Any) -> bytes:
    """Return data as JSON; pure ASCII, so that half of a surrogate pair in a name breaks nothing."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).encode("ascii")


def failure(
    status: int, message: str, field: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the answer to what cannot be done: one line, and the path of the field if a body is wrong."""
    line = " ".join(message.split())
    data: dict[str, Any] = {"error": _cut(line), "status": status}
    if field is not None:
        data["field"] = _cut(field)
    return answer(data, status, headers)


def finite(value: Any) -> Any:
    """Return a value with None in place of infinity, which JSON does not know."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    return [finite(each) for each in value] if isinstance(value, list | tuple) else value


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]}..."
