"""Where entries of a broker's account may be missing: what a killed broker had done, and had not told.

A broker tells its account in order, so what the record has of a killed one is all up to some moment. The next
broker tells what the journal knew of acceptances after that, without due times, and of the plans in force
then, and at last that it has BEGUN:

    told, told, told | accepted (no due), accepted (no due) | BEGUN, PLAN, told, ...
                       the span that is excused

Outside such spans nothing may be missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from edgefw.core.account import Entry, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Span(NamedTuple):
    """From the last that a killed broker told to the beginning of the next."""

    told: int
    begun: int


class Untold:
    """All spans of an account in which entries may be missing."""

    def __init__(self, account: Sequence[Entry]) -> None:
        self.spans = tuple(_spans(account))

    def covers(self, moment: int) -> bool:
        """Whether what happened at a moment may not have been told."""
        return any(span.told < moment < span.begun for span in self.spans)

    def between(self, after: int, before: int) -> bool:
        """Whether something that happened between two moments may not have been told."""
        return any(span.told < before and after < span.begun for span in self.spans)

    def since(self, moment: int) -> bool:
        """Whether something after a moment may not have been told."""
        return any(moment < span.begun for span in self.spans)

    def restarted(self, after: int, before: int) -> bool:
        """Whether a broker was started again between two moments."""
        return any(after < span.begun < before for span in self.spans)


def _spans(account: Sequence[Entry]) -> Iterable[Span]:
    told = 0  # a killed broker may have told nothing at all
    for entry in account:
        if entry.kind is Kind.BEGUN and entry is not account[0]:
            yield Span(told, entry.moment)
        if not _recalled(entry):
            told = entry.moment


def _recalled(entry: Entry) -> bool:
    """Whether it is told from a journal: an acceptance that says no due time, a plan that says no change."""
    return (entry.kind is Kind.ACCEPTED and entry.due is None) or (entry.kind is Kind.PLAN and not entry.what)
