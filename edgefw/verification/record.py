"""A run folder, read for being checked: whatever keeps it from that is said in one line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgefw.errors import InputError, RecordError
from edgefw.records import DATABASE, WHOLE_EVERY
from edgefw.scenario.load import load
from edgefw.scenario.setup import resolve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from edgefw.core.account import Entry
    from edgefw.records import PlayRow, RunFolder
    from edgefw.scenario.setup import Setup


@dataclass(frozen=True)
class Recorded:
    """A run folder, read and found fit to be replayed."""

    setup: Setup
    rounds: Sequence[Sequence[PlayRow]]  # one row an agent, in order
    meta: Mapping[str, str]
    summary: str | None  # the text of summary.json
    account: Sequence[Entry]  # the broker's; empty if there is none
    comparator: NDArray[np.float64] | None  # the fixed point's loss in every round, if it is on record


def read(folder: RunFolder) -> Recorded:
    """Read a run: an InputError says why it cannot be replayed, a RecordError what cannot be true of it."""
    folder.require()
    rows, meta = folder.rows(), folder.meta()
    if not rows:
        raise InputError(f"{folder.path / DATABASE} has no plays: no round of this run was completed")
    if meta.get("mode") == "simulate" or all(row.hash is None for row in rows):
        raise InputError(
            f"{folder.path} was simulated, no play is on record: run its scenario again to compare "
            "(`edgefw simulate`); verify is for runs of `edgefw up`"
        )
    setup = resolve(load(str(folder.scenario_path)))
    _check_origin(folder, setup, meta)
    rounds = folder.by_round(rows, setup.n)
    _check_plays(rows, setup.rounds)
    return Recorded(setup, rounds, meta, folder.summary_text(), folder.account(), folder.comparator())


def _check_origin(folder: RunFolder, setup: Setup, meta: Mapping[str, str]) -> None:
    digest = setup.scenario.digest
    if meta.get("digest") != digest:
        raise InputError(
            f"{folder.scenario_path} has digest {digest}, the run was of {meta.get('digest')}: "
            "restore the scenario, or use the version of edgefw that ran it"
        )
    if meta.get("data_digest") != setup.dataset.digest:
        raise InputError(
            f"the run was on {meta.get('data')} with digest {meta.get('data_digest', '')[:16]}, "
            f"found here is {setup.dataset.name} with {setup.dataset.digest[:16]}: get the same data set"
        )


def _check_plays(rows: Sequence[PlayRow], planned: int) -> None:
    """Refuse rows that no observer has written."""
    for row in rows:
        place = f"round {row.round}, agent {row.agent}"
        if row.round > planned:
            raise RecordError(f"{place}: the run has {planned} rounds")
        if row.hash is None:
            raise RecordError(f"{place}: the play has no hash")
        if row.point is None and row.round % WHOLE_EVERY == 0:
            raise RecordError(f"{place}: the play is not kept whole, as every {WHOLE_EVERY}th is")
