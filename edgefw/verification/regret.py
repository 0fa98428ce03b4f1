"""Whether the fixed point that regret is measured against can be the best one: it is searched for again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from edgefw import best
from edgefw.errors import RecordError
from edgefw.records import SUMMARY
from edgefw.scenario.setup import first_rounds
from edgefw.verification.summary import comparator_of

if TYPE_CHECKING:
    from edgefw.verification.record import Recorded

CLOSE = 1e-5  # relative: sums of single-precision losses, on any machine

NONE = f"{SUMMARY} has no fixed point, or is not there: whether the regret is true is not known"


def check_regret(recorded: Recorded) -> tuple[str, ...]:
    """Refuse a loss that no best fixed point has; return what could not be checked.

    A certificate says that the least loss lies between value - gap and value. So it does by ours and by the
    one on record, and they have to overlap.
    """
    said = None if recorded.summary is None else comparator_of(json.loads(recorded.summary))
    if said is None:
        return (NONE,)
    losses = np.array([[row.global_loss for row in rows] for rows in recorded.rounds])
    found = best.comparator(first_rounds(recorded.setup, len(losses)), float(losses.sum(axis=0).max()))
    slack = CLOSE * abs(found.value)
    if not (found.value - found.gap - slack <= said.value and said.value - said.gap <= found.value + slack):
        raise RecordError(
            f"{SUMMARY} says comparator_loss {said.value!r} with comparator_gap {said.gap!r}, "
            f"the best fixed point loses between {found.value - found.gap!r} and {found.value!r}"
        )
    return ()
