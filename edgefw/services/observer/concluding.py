"""What a run comes to: its summary, from what was recorded; and the conclusion of an observer before."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from edgefw.core.regret import Comparator
from edgefw.errors import RecordError
from edgefw.records import RunFolder, Summary, score
from edgefw.scenario.pace import timing
from edgefw.services.observer.ledger import Ledger, lateness
from edgefw.services.observer.scoring import Certificate, Scoreboard

if TYPE_CHECKING:
    from edgefw.scenario.setup import Setup


def summarise(
    setup: Setup, ledger: Ledger, board: Scoreboard, wall_seconds: float, comparator: Comparator | None
) -> Summary:
    """Return the summary of the rounds that are complete."""
    total_delay, unused = lateness(ledger.delays())
    messages, rounds = sum(ledger.messages), board.rounds
    return Summary(
        mode="up",
        rounds=rounds,
        unused=unused,
        messages=messages,
        bytes=messages * setup.frame_bytes,
        wire_bytes=sum(ledger.wire_bytes),
        wall_seconds=wall_seconds,
        **timing(setup.scenario.pace, rounds, wall_seconds, ledger.missed_ticks),
        **setup.facts(),
        **score(board.losses, total_delay, comparator),
    )


def concluded(folder: RunFolder) -> Certificate | None:
    """Return what regret was measured against in the end; None where that was not found, or not written."""
    summary, losses = None, folder.comparator()
    with suppress(RecordError):  # it was not written to its end
        summary = folder.summary()
    if summary is None or summary.comparator_loss is None or summary.comparator_gap is None or losses is None:
        return None
    return Certificate(Comparator(summary.comparator_loss, summary.comparator_gap), losses, final=True)
