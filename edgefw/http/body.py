"""The body of a request: JSON of a bounded size, that says everything once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from edgefw.errors import EdgefwError, InputError

if TYPE_CHECKING:
    from starlette.requests import Request

LARGEST_BODY = 1_500_000  # bytes; any plan that GET /plan shows can be sent back
TYPES = ("application/json", "application/merge-patch+json")


class RefusedError(EdgefwError):
    """A request that is refused for what it is, not for what it asks."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


async def read_json(request: Request) -> Any:
    """Return the body of a request; one that is too large is not read to its end."""
    kind = request.headers.get("content-type", TYPES[0]).partition(";")[0].strip().lower()
    if kind not in TYPES:
        raise RefusedError(415, f"the body is {kind!r}: send JSON, with the header Content-Type: {TYPES[0]}")
    body = await _read(request)
    try:
        return json.loads(
            body.decode(), object_pairs_hook=_object, parse_constant=_constant, parse_float=_number
        )
    except UnicodeDecodeError:
        raise InputError("the body is not UTF-8", "") from None
    except RecursionError:
        raise InputError("the body is nested too deeply", "") from None
    except ValueError as error:
        raise InputError(f"the body is not JSON: {error}", "") from None


async def _read(request: Request) -> bytearray:
    told, body = request.headers.get("content-length", ""), bytearray()
    if not (told.isdecimal() and int(told) > LARGEST_BODY):
        async for piece in request.stream():
            body += piece
            if len(body) > LARGEST_BODY:
                break
        else:
            return body
    raise RefusedError(413, f"the body is too large: at most {LARGEST_BODY} bytes are read")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; one that says a thing twice says nothing."""
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{twice} is given twice in one object", twice)
    return result


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _number(text: str) -> float:
    """Return a number; 5.0 is the integer 5, as it is everywhere in JSON."""
    value = float(text)
    return int(value) if value.is_integer() else value
