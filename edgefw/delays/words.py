"""Faults and agents in words: for the record, for a page, for whoever reads them later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from edgefw.delays.body import fault_body
from edgefw.delays.registry import TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from edgefw.delays.entry import PlanEntry

MOST_NAMED = 6
LONGEST = 200  # characters that are said of one thing


class Said(NamedTuple):
    """What is said, and of whom (None: of all agents)."""

    text: str
    agents: tuple[int, ...] | None


def agents_in_words(agents: Iterable[int]) -> str:
    """Return some agents as one would say them.

    >>> agents_in_words([3]), agents_in_words([3, 1]), agents_in_words(range(30))
    ('agent 3', 'agents 1, 3', 'agents 0, 1, 2, 3, 4, 5 and 24 more')
    """
    listed = sorted(agents)
    named = ", ".join(map(str, listed[:MOST_NAMED]))
    more = len(listed) - MOST_NAMED
    return f"agent{'' if len(listed) == 1 else 's'} {named}{f' and {more} more' if more > 0 else ''}"


def fault_in_words(entry: PlanEntry, agents: Sequence[int] | None, what: str) -> Said:
    """Return a sentence on a fault and its agents (None: all); `what` is, say, "is set" or "is over"."""
    whom = "all agents" if agents is None else agents_in_words(agents)
    text = cut(f"{whom}: {in_a_line(fault_body(entry, 1))} {what}")
    return Said(text, None if agents is None else tuple(agents))


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


def cut(text: str, longest: int = LONGEST) -> str:
    """Return a text, its end left out where it is too long."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _short(value: Any) -> str:
    return f"{len(value)} values" if isinstance(value, list) else str(value)
