"""A fault in a line, for people."""

from __future__ import annotations

from typing import Any

from edgefw.delays.registry import TYPES


def in_a_line(fault: dict[str, Any]) -> str:
    """Return what a fault (as the admin endpoint shows it) does: what is as usual is left out.

    >>> slow = {"type": "latency", "attributes": {"latency": "750ms", "jitter": "200ms"}}
    >>> in_a_line({**slow, "probability": 0.5, "apply_to": "new", "duration": "30s"})
    'latency 750ms jitter=200ms probability=0.5 duration=30s'
    """
    type_, own = fault["type"], dict(fault["attributes"])
    words = [type_]
    if type_ in own:  # latency 750ms, rounds 20
        words.append(str(own.pop(type_)))
    unusual: dict[str, Any] = {
        name: fault[name] for name in ("probability", "at", "duration") if name in fault
    }
    if unusual["probability"] == 1:
        del unusual["probability"]
    if fault["apply_to"] != TYPES[type_].acts_on_by_default:
        unusual["apply_to"] = fault["apply_to"]
    return " ".join([*words, *(f"{name}={_short(value)}" for name, value in (own | unusual).items())])


def _short(value: Any) -> str:
    return f"{len(value)} values" if isinstance(value, list) else str(value)
