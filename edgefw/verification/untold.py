"""Where entries of a broker's account may be missing: what a killed broker had done, and had not told.

A broker tells its account in order, so what the record has of a killed one is all up to some moment. The next
broker tells what the journal knew of acceptances after that, without due times, and of the plans in force
then, and at last that it has BEGUN:

    told, told, told | accepted (no due), accepted (no due) | BEGUN, PLAN, told, ...
                       the span that is excused

Outside such spans nothing may be missing.

Where the plan was changed in a span, it is not known which plan was in force when: the journal knows those
under which feedback was accepted that it still held, and the last one. What was held then may have been given
out under any of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from edgefw.core.account import Entry, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Span(NamedTuple):
    """From the last that a killed broker told to the beginning of the next.

    With the versions of the plan that were in force at its ends.
    """

    told: int
    begun: int
    before: int
    after: int


class Untold:
    """All spans of an account in which entries may be missing; `first` is the version of the run's plan."""

    def __init__(self, account: Sequence[Entry], first: int = 1) -> None:
        self.spans = tuple(_spans(account, first))
        self.collections = frozenset(_collections(account, self.spans))
        """Agents and rounds that may have been asked for unseen, under which plan is not known."""

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


def _spans(account: Sequence[Entry], first: int) -> Iterator[Span]:
    told, version = 0, first  # a killed broker may have told nothing at all
    for entry in account:
        if entry.kind is Kind.BEGUN and entry is not account[0]:
            yield Span(told, entry.moment, version, entry.version)
        if not _recalled(entry):
            told, version = entry.moment, entry.version


def _collections(account: Sequence[Entry], spans: Sequence[Span]) -> Iterator[tuple[int, int]]:
    """Yield what may have been asked for in a span, or in several, in which the plan was changed.

    An agent asks for a round when that is accepted, and before it submits the next.
    """
    accepted, asked = _moments(account, Kind.ACCEPTED), _moments(account, Kind.COLLECTED)
    for (agent, t), since in accepted.items():
        until = asked.get((agent, t)) or accepted.get((agent, t + 1), account[-1].moment)
        crossed = [span for span in spans if since < span.begun and span.told < until]
        if crossed and crossed[0].before != crossed[-1].after:
            yield agent, t


def _moments(account: Sequence[Entry], kind: Kind) -> dict[tuple[int, int], int]:
    """Return when each round of each agent is first said to be accepted, or asked for."""
    found: dict[tuple[int, int], int] = {}
    for entry in account:
        if entry.kind is kind:
            found.setdefault((entry.agent, entry.round), entry.moment)
    return found


def _recalled(entry: Entry) -> bool:
    """Whether it is told from a journal: an acceptance that says no due time, a plan that says no change."""
    return (entry.kind is Kind.ACCEPTED and entry.due is None) or (entry.kind is Kind.PLAN and not entry.what)
