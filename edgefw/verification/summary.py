"""Whether summary.json says what the rows say.

The best fixed point is not searched for again here: `comparator_loss` and `comparator_gap` are taken as they
are, and the regrets have to follow from them.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.core.regret import Comparator
from edgefw.errors import RecordError
from edgefw.records import LATER, SUMMARY, Summary, score
from edgefw.scenario.pace import timing
from edgefw.services.observer.ledger import Ledger, lateness

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from edgefw.records import PlayRow
    from edgefw.verification.record import Recorded

CLOSE = 1e-9  # relative: sums of the same numbers, in another order
ROUNDED = 1e-5  # relative: the same sum in double and in single precision
_GROWING = ("messages", "wire_bytes", "wall_seconds")  # told with every report, also of rounds not complete
_BEFORE = "bytes"  # what meta called the wire_bytes of runs whose summary did not have these


def check_summary(recorded: Recorded) -> None:
    """Refuse a summary that does not follow from the rows."""
    if recorded.summary is None:
        return
    said = _parse(recorded.summary)
    expected = _expected(recorded, said)
    for place, here, there in _pairs("", said, expected):
        if not _same(here, there):
            raise RecordError(f"{SUMMARY} says {place} {here!r}, the rows give {there!r}")
    _check_growing(said, recorded)
    _check_comparator(said, recorded)
    _check_size(said, recorded)
    _check_timing(said, recorded)


def _parse(text: str) -> dict[str, Any]:
    try:
        said = json.loads(text)
    except ValueError as error:
        raise RecordError(f"{SUMMARY} cannot be read: {error}") from None
    names = {field.name for field in fields(Summary)}
    if not isinstance(said, dict) or not names - LATER <= said.keys() <= names:
        odd = sorted(names ^ said.keys()) if isinstance(said, dict) else []
        raise RecordError(f"{SUMMARY} is no summary: {', '.join(odd) or 'it has no fields'}")
    return said


def _expected(recorded: Recorded, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the summary that follow from the rows."""
    losses = np.array([[row.global_loss for row in rows] for rows in recorded.rounds])
    total_delay, unused = lateness(_delays(recorded.rounds))
    found = score(losses, total_delay, comparator_of(said)) | {"unused": unused}
    found["per_agent"] = [asdict(agent) for agent in found["per_agent"]]
    return recorded.setup.facts() | found | {"mode": "up", "rounds": len(recorded.rounds)}


def comparator_of(said: Mapping[str, Any]) -> Comparator | None:
    """Return the fixed point that a summary speaks of, if it does."""
    value, gap = said["comparator_loss"], said["comparator_gap"]
    if value is None and gap is None:
        return None
    if not all(isinstance(each, float) and math.isfinite(each) for each in (value, gap)) or gap < 0:
        raise RecordError(
            f"{SUMMARY}: comparator_loss {value!r} with comparator_gap {gap!r} is no comparator"
        )
    return Comparator(value, gap)


def _delays(rounds: Sequence[Sequence[PlayRow]]) -> NDArray[np.int64]:
    ledger = Ledger(len(rounds[0]), len(rounds), 1)
    ledger.restore([(row.round, row.agent, row.hash or "", row.arrivals) for rows in rounds for row in rows])
    return ledger.delays()


def _check_growing(said: Mapping[str, Any], recorded: Recorded) -> None:
    """Refuse counts below those that were on record with the last round; a whole run has just these."""
    whole = len(recorded.rounds) == recorded.setup.rounds
    for name in (*_GROWING, _BEFORE):
        if name not in recorded.meta:
            continue
        kept, told = json.loads(recorded.meta[name]), said.get(name)
        least = sum(kept) if isinstance(kept, list) else kept
        if not isinstance(told, int | float) or told < least or (whole and told > least):
            raise RecordError(f"{SUMMARY} says {name} {told!r}, on record with the last round is {least!r}")


def _check_comparator(said: Mapping[str, Any], recorded: Recorded) -> None:
    """Refuse a fixed point whose losses, round by round, are not its loss."""
    losses = recorded.comparator
    if losses is None or not len(losses) or said["comparator_loss"] is None:
        return
    total, said_loss = float(losses.sum()), said["comparator_loss"]
    if len(losses) != len(recorded.rounds) or not math.isclose(
        total, said_loss, rel_tol=ROUNDED, abs_tol=CLOSE
    ):
        raise RecordError(
            f"{SUMMARY} says comparator_loss {said_loss!r}, its {len(losses)} rounds give {total!r}"
        )


def _check_size(said: Mapping[str, Any], recorded: Recorded) -> None:
    """Refuse a size that is not that of the messages' arrays."""
    if _BEFORE in recorded.meta:
        return
    expected = said["messages"] * recorded.setup.frame_bytes
    if said["bytes"] != expected:
        raise RecordError(f"{SUMMARY} says bytes {said['bytes']!r}, the messages give {expected!r}")


def _check_timing(said: Mapping[str, Any], recorded: Recorded) -> None:
    """Refuse a pace that does not follow from how long the rounds took."""
    taken = said["wall_seconds"]
    if isinstance(taken, bool) or not isinstance(taken, int | float):
        raise RecordError(f"{SUMMARY} says wall_seconds {taken!r}: that is no time")
    rounds, missed = recorded.rounds, sum(row.late is not None for rows in recorded.rounds for row in rows)
    for name, expected in timing(recorded.setup.scenario.pace, len(rounds), taken, missed).items():
        if name in said and not _same(said[name], expected):
            raise RecordError(
                f"{SUMMARY} says {name} {said[name]!r}, the rows and the pace give {expected!r}"
            )


def _pairs(place: str, said: Any, expected: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield what was said and what is expected, side by side, leaf by leaf."""
    if isinstance(expected, dict) and isinstance(said, dict):
        for name, value in expected.items():
            yield from _pairs(f"{place}.{name}".lstrip("."), said.get(name), value)
    elif isinstance(expected, list) and isinstance(said, list) and len(said) == len(expected):
        for number, (one, other) in enumerate(zip(said, expected, strict=True)):
            yield from _pairs(f"{place}.{number}", one, other)
    else:
        yield place, said, expected


def _same(said: Any, expected: Any) -> bool:
    if isinstance(expected, float) and isinstance(said, int | float):
        return math.isclose(said, expected, rel_tol=CLOSE, abs_tol=CLOSE)
    return type(said) is type(expected) and bool(said == expected)
