"""The body of a request: JSON of a bounded size, with the fields that it may have."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from edgefw.delays.plan import MOST_FAULTS
from edgefw.delays.units import as_written
from edgefw.errors import EdgefwError, InputError

if TYPE_CHECKING:
    from starlette.requests import Request

LARGEST_BODY = 1_500_000  # any plan that GET /plan shows can be sent back
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
    return _parse(await _read(request))


async def _read(request: Request) -> bytes:
    told = request.headers.get("content-length", "")
    if told.isdecimal() and int(told) > LARGEST_BODY:
        raise _too_large()
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > LARGEST_BODY:
            raise _too_large()
        pieces.append(piece)
    return b"".join(pieces)


def _too_large() -> RefusedError:
    return RefusedError(413, f"the body is too large: at most {LARGEST_BODY} bytes are read")


def _parse(body: bytes) -> Any:
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


def read_enabled(body: Any) -> bool:
    """Return what the patch of a link says."""
    if not isinstance(body, dict):
        raise InputError(f'the body is {as_written(body)}: it must be an object, {{"enabled": false}}', "")
    for name in body:
        if name != "enabled":
            raise InputError(f"{name}: unknown field; allowed: enabled", name)
    enabled = body.get("enabled")
    if not isinstance(enabled, bool):
        given = as_written(enabled) if "enabled" in body else "missing"
        raise InputError(f"enabled is {given}: it must be true or false", "enabled")
    return enabled


def without_agents(body: Any) -> Any:
    """Return the body of a fault that the path says the agents of."""
    if isinstance(body, dict) and "agents" in body:
        raise InputError("agents: unknown field; the path says whose link it is, or use PUT /plan", "agents")
    return body


def read_plan(body: Any, agents: int) -> dict[str, Any]:
    """Return the body of PUT /plan, its faults not looked at yet."""
    if not isinstance(body, dict):
        raise InputError(f'the body is {as_written(body)}: it must be an object, {{"faults": [...]}}', "")
    for name in body:
        if name not in {"version", "faults", "disabled"}:
            raise InputError(f"{name}: unknown field; allowed: faults, disabled, version", name)
    faults, disabled, number = body.get("faults"), body.get("disabled", []), body.get("version", 1)
    if not isinstance(faults, list):
        given = as_written(faults) if "faults" in body else "missing"
        raise InputError(f"faults is {given}: it must be a list, [] for none", "faults")
    if len(faults) > MOST_FAULTS:
        raise InputError(f"faults are {len(faults)}: at most {MOST_FAULTS} are allowed", "faults")
    if not _whole(number, least=1):
        raise InputError(
            f"version is {as_written(number)}: it must be that of the plan, or left out", "version"
        )
    if not isinstance(disabled, list):
        raise InputError(f"disabled is {as_written(disabled)}: it must be a list of agents", "disabled")
    for position, agent in enumerate(disabled):
        if not _whole(agent) or agent >= agents:
            field = f"disabled.{position}"
            raise InputError(f"{field} is {as_written(agent)}: agents are 0 to {agents - 1}", field)
    return body


def _whole(value: Any, least: int = 0) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
