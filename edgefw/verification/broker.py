"""The broker once more, from its account: what was due when by the plan, and what became of it.

The broker's hold is pure, so its account can be put through it again: acceptances, plans and collections in
their order have to give the due times that the account says, and what was released has to have been due. What
a broker did just before it was killed may be missing; the BEGUN that follows says where.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from edgefw.core.account import UNANSWERED, Entry, Kind
from edgefw.delays.hold import RoundsHold, WallHold, make_hold
from edgefw.delays.limits import Capacity
from edgefw.delays.plan import plan_from_json
from edgefw.errors import DataError, RecordError, WireError
from edgefw.scenario.plan import scenario_plan
from edgefw.verification.untold import Untold

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from edgefw.delays.hold import Taken
    from edgefw.delays.link import Held
    from edgefw.delays.plan import Plan
    from edgefw.scenario.model import Scenario

Key = tuple[int, int]

SECOND = 10**9  # nanoseconds
SLACK = 2_000  # nanoseconds that two ways to compute a due time may differ
IN_A_TURN = UNANSWERED + 1  # feedbacks of an agent that a broker may accept before its releaser has its turn
LATEST = 10 * SECOND  # what was due so long before the account ends has to have been released

_NO_LIMITS = Capacity(link=2**62, all=2**62, bytes=2**62)  # what was accepted had room


class BrokerAgain:
    """Takes the entries of an account one after the other; what cannot have been raises a RecordError."""

    def __init__(self, scenario: Scenario, account: Sequence[Entry]) -> None:
        self._zero, self._end = account[0].moment, account[-1].moment
        self._first = scenario_plan(scenario)
        self._plans = {entry.version: self._read_plan(entry) for entry in account if entry.kind is Kind.PLAN}
        self.untold = Untold(account, self._first.version)
        self._told = [e.moment for e in account if e.kind is Kind.ACCEPTED and e.due is not None]
        self._patience = IN_A_TURN * len(self._first.rules.links)
        self._last_taken = {(e.agent, e.round): e.moment for e in account if e.kind is Kind.ACCEPTED}
        self._asked_for = {(e.agent, e.round): e.moment for e in account if e.kind is Kind.COLLECTED}
        self.hold = make_hold(self._first, _NO_LIMITS)
        self.accepted: dict[Key, Entry] = {}
        self._begun = False  # a broker has just begun, and its plan follows
        self._round = 0  # the last of which anybody's feedback was accepted
        self.released: dict[Key, int] = {}  # when each was released first
        self._given: set[Key] = set()  # released by the broker that is, which accepted it
        self.withdrawn: dict[Key, int] = {}  # when a copy was released first that then could not be kept
        self.acknowledged: dict[Key, int] = {}
        self.lost: dict[Key, int] = {}  # when each was due that a killed broker may have released unseen
        self.unsure: dict[Key, int] = {}  # from when on one may have released each, by a plan nobody knows
        self.dropped: dict[
            Key, int
        ] = {}  # by the plan, with the play after which its agent knew at the latest,
        self._said_dropped: set[Key] = set()  # and by the account
        self._refused: set[Key] = set()  # dropped as they were accepted: that is on disk with them
        # Dropped later by a broker that was killed: the next, which began then, may not know.
        self.revived: dict[Key, int] = {}
        self.arrivals: dict[Key, tuple[int, ...]] = {}  # F_t by agent and t (rounds clock)
        self._given_last: set[Key] = set()  # with the last round that a killed broker was asked for
        self.unknown: set[Key] = set()  # what is over and done with, by a plan that nobody knows
        self._unasked: set[int] = set()  # links that a change of the plan concerns, and no REDUE is told of
        self.unseen = set(self.untold.collections)  # and rounds that may have been asked for meanwhile
        self._in_doubt: list[Held] = []  # given out with a round that was asked for under an unknown plan
        self._ripe: dict[Key, int] = {}  # due, and to be released next
        self._newest = 0  # the latest due time of what has been released
        self._asked: dict[int, int] = {}  # when a link was last asked what is due on it

    def run(self, account: Sequence[Entry]) -> None:
        """Take the whole account, which has no hole."""
        take = {
            Kind.BEGUN: self._take_begun,
            Kind.PLAN: self._take_plan,
            Kind.ACCEPTED: self._take_accepted,
            Kind.WITHDRAWN: self._take_withdrawn,
            Kind.REDUE: self._take_redue,
            Kind.RELEASED: self._take_released,
            Kind.ACKNOWLEDGED: self._take_acknowledged,
            Kind.COLLECTED: self._take_collected,
            Kind.DROPPED: self._take_dropped,
        }
        for entry in account:
            if entry.kind is not Kind.RELEASED:
                self._none_left_behind()
            take[entry.kind](entry)
            self._check_version(entry)
        self._none_left_behind()
        self._nothing_forgotten()

    def _take_begun(self, entry: Entry) -> None:
        """Begin; or go on after a restart, before which some entries may be missing."""
        for span in self.untold.spans:
            if span.begun == entry.moment:
                self._ripe |= self._due_by(entry.moment)
                self._none_overdue(self._ripe, span.told)
                self.lost |= self._ripe
                self._ripe = {}
                self._begun = True
                self._doubt(span.told, every=span.before != span.after)
                self.revived |= dict.fromkeys(self.dropped.keys() - self._refused, entry.moment)
                for key in [key for key in self.accepted if self._last_taken[key] > entry.moment]:
                    self._withdraw(key, entry.moment)  # it was not yet on disk: it will be accepted again
                self._collect_unseen(entry.moment)
                self._hold_again()
                self._note_last_given()
                self._forget_copies()
                self._restart(entry)
                self._redue_all(entry.moment)

    def _note_last_given(self) -> None:
        """Note what came with the last round that was asked for: the next broker may hold it as before."""
        if isinstance(self.hold, RoundsHold):
            for agent, t in enumerate(self.hold.collected):
                self._given_last |= {(agent, s) for s in self.arrivals.get((agent, t), ())}

    def _forget_copies(self) -> None:
        """Forget what was given out and could not be kept: the broker that goes on knows nothing of it."""
        self._given.clear()
        for link in self.hold.links:
            link.withdrawn.clear()

    def _doubt(self, told: int, *, every: bool) -> None:
        """Note what may have been released since a moment, under plans of which the last alone is known.

        That is so on every link, or on those that may have been asked again when their feedback is due.
        """
        for key, entry in self.accepted.items():
            if key not in self.released and (every or key[0] in self._unasked):
                self.unsure.setdefault(key, max(told, entry.moment))

    def _take_plan(self, entry: Entry) -> None:
        current, plan = self.hold.plan.version, self._plans[entry.version]
        if entry.version == self._first.version and plan != self._first:
            raise RecordError("the first plan of the broker's account is not the scenario's")
        if entry.version < current:
            raise RecordError(f"plan {entry.version} comes after plan {current} in the broker's account")
        if entry.what and not self.untold.spans and entry.round != self._round:
            raise RecordError(
                f"plan {entry.version} is said to have come after round {entry.round}, it was {self._round}"
            )
        if entry.version > current:
            self._unasked |= set(self.hold.change(plan))
            recalled = not entry.what and self.untold.covers(entry.moment)
            if self._begun or recalled:  # then nobody tells that links were asked again
                self._redue_all(entry.moment)
        self._begun = False

    def _take_accepted(self, entry: Entry) -> None:
        key = agent, s = entry.agent, entry.round
        self._check_place(key)
        self._under(entry)
        if key in self.accepted:
            again = self.untold.restarted(self.accepted[key].moment, entry.moment)
            if not (again or self.recalled(entry)):
                raise RecordError(f"{_name(key)} was accepted twice")
            if self.recalled(entry):
                self._forget_start(entry.moment)
            self._withdraw(key, entry.moment)
        self._collect_before(agent, s, entry.moment)
        taken: Taken = self.hold.submit(agent, s, b"", entry.norm or 0.0, self._at(entry.moment))
        self.accepted[key] = entry
        self._round = max(self._round, s)
        self._drop(agent, taken.others)
        if taken.dropped:
            self.dropped[key] = s  # the answer says so
            self._refused.add(key)
        if s == self.hold.rounds:
            self._asked[agent] = entry.moment
        held = self.hold.links[agent].held.get(s)
        if entry.due is not None or not self.untold.covers(entry.moment):
            self._check_due(key, entry.due, None if held is None else held.due)

    def _take_withdrawn(self, entry: Entry) -> None:
        key = entry.agent, entry.round
        self._withdraw(key, entry.moment)
        if key in self.released:  # its agent may have that copy; another one is due in its own time
            self.withdrawn.setdefault(key, self.released.pop(key))
        if key in self._given:
            self._given.discard(key)
            self.hold.links[entry.agent].withdrawn.add(entry.round)

    def _take_redue(self, entry: Entry) -> None:
        self._redue(entry.agent, entry.moment)

    def _redue(self, agent: int, moment: int) -> None:
        now, waiting = self._at(moment), self.hold.links[agent].waiting()
        if isinstance(self.hold, WallHold):
            due = {(agent, held.round): self._real(held.due) for held in waiting if held.due <= now}
            self._none_overdue(due, moment)
        self._asked[agent] = moment
        self._unasked.discard(agent)
        self._drop(agent, self.hold.redue(agent, self._at(moment)))

    def _take_released(self, entry: Entry) -> None:
        key = entry.agent, entry.round
        self._ripe |= self._due_by(self._due_about(key, entry.moment))
        self._given.add(key)
        again = self._released_again(key, entry.moment) or self._released_unseen(key, entry)
        if key in self.lost or key in self.revived or again:
            self.dropped.pop(key, None)
            self.released.setdefault(key, entry.moment)
            return
        due = self._ripe.pop(key, None)
        if due is None:
            raise RecordError(f"{_name(key)} was released though it was not due")
        self._check_due(key, entry.due, self._at(due))
        self._newest = max(self._newest, due)
        self.released[key] = entry.moment

    def _released_again(self, key: Key, moment: int) -> bool:
        """Whether a feedback was released before a restart too: it had not been acknowledged by then."""
        return key in self.released and self.untold.restarted(self.released[key], moment)

    def _released_unseen(self, key: Key, entry: Entry) -> bool:
        """Whether a killed broker may have released it by a plan nobody knows: the next does so at once."""
        begun, due = self.begun_before(entry.moment), entry.due
        return key in self.unsure and begun is not None and due is not None and due <= begun

    def _take_acknowledged(self, entry: Entry) -> None:
        key = entry.agent, entry.round
        if not (key in self.released or key in self.lost or key in self.unsure):
            self._acknowledge_withdrawn(key)
        before = self.acknowledged.setdefault(key, entry.moment)
        again = key in self.withdrawn or self.untold.restarted(before, entry.moment)
        if before != entry.moment and not again:
            raise RecordError(f"{_name(key)} was acknowledged twice")

    def _acknowledge_withdrawn(self, key: Key) -> None:
        """Take that an agent has the copy that could not be kept: it needs no other."""
        if key not in self.withdrawn:
            raise RecordError(f"{_name(key)} was acknowledged and never released")
        self._ripe.pop(key, None)
        if isinstance(self.hold, WallHold) and key[1] in self.hold.links[key[0]].withdrawn:
            self.hold.acknowledge(key[0], [key[1]])

    def _take_collected(self, entry: Entry) -> None:
        if (entry.agent, entry.round) in self.arrivals and not self.untold.spans:
            raise RecordError(f"round {entry.round}, agent {entry.agent}: the round was asked for twice")
        self._collect(entry.agent, entry.round)

    def _take_dropped(self, entry: Entry) -> None:
        key = entry.agent, entry.round
        if key not in self.dropped and key not in self._given_last:
            raise RecordError(f"{_name(key)} is said to be dropped, by the plan it is not")
        if key in self._said_dropped and not self.untold.spans:
            raise RecordError(f"{_name(key)} is said to be dropped twice")
        self._said_dropped.add(key)

    def _check_version(self, entry: Entry) -> None:
        """Refuse what is said to have happened under another plan than the one in force."""
        if entry.kind in {Kind.PLAN, Kind.ACCEPTED, Kind.BEGUN} or self.untold.spans:
            return
        if entry.version != self.hold.plan.version:
            raise RecordError(
                f"the broker's account says plan {entry.version} where {self.hold.plan.version} was in force"
            )

    def _under(self, entry: Entry) -> None:
        """Go over to the plan that a feedback was accepted under, which a killed broker may not have told."""
        if entry.version == self.hold.plan.version:
            return
        if self._is_over(entry):  # then the journal may not know its plan any more
            self.unknown.add((entry.agent, entry.round))
            return
        if entry.version not in self._plans or not self.untold.covers(entry.moment):
            raise RecordError(
                f"{_name((entry.agent, entry.round))} was accepted under plan {entry.version}, "
                f"in force was {self.hold.plan.version}"
            )
        self.hold.change(self._plans[entry.version])

    def _collect_before(self, agent: int, s: int, moment: int) -> None:
        """Collect the round before, which an agent does before it submits the next (rounds clock)."""
        if isinstance(self.hold, RoundsHold) and self.hold.collected[agent] < s - 1:
            known = self.accepted.get((agent, s - 1))
            if known is None or not self.untold.between(known.moment, moment):
                raise RecordError(f"round {s}, agent {agent}: the round before had not been asked for")
            self._guess(agent, s - 1)

    def _collect(self, agent: int, t: int) -> list[Held]:
        if not isinstance(self.hold, RoundsHold):
            raise RecordError("rounds are collected under the rounds clock only")
        try:
            arrived = self.hold.collect(agent, t)
        except WireError as error:
            raise RecordError(f"the broker's account cannot be: {error}") from None
        self.arrivals[agent, t] = tuple(sorted(held.round for held in arrived.deliveries))
        return list(arrived.deliveries)

    def _guess(self, agent: int, t: int) -> None:
        """Collect a round that nobody told of; where the plan is not known, what comes with it is a guess."""
        given = self._collect(agent, t)
        if agent in self._unasked:
            self.unseen.add((agent, t))
        if (agent, t) in self.unseen:
            self._in_doubt += given

    def _hold_again(self) -> None:
        """Hold what may not have been given out unseen: then it comes by the plan of the broker that goes on.

        So it is among the arrivals of two rounds, and either is believed. What its journal knows to be over
        and done with it does not hold.
        """
        doubted, self._in_doubt = self._in_doubt, []
        held_again = self.accepted.keys() - self.unknown
        for held in doubted:
            if isinstance(self.hold, RoundsHold) and (held.agent, held.round) in held_again:
                self.hold.hold_again(held)

    def _collect_unseen(self, begun: int) -> None:
        """Collect what a killed broker was asked for: it never is again, and the next rounds are."""
        if not isinstance(self.hold, RoundsHold):
            return
        for link in self.hold.links:
            t = self.hold.collected[link.agent] + 1
            if t <= link.floor and self._asked_for.get((link.agent, t), 0) < begun:
                self._guess(link.agent, t)

    def _withdraw(self, key: Key, moment: int) -> None:
        if self.accepted.pop(key, None) is None:
            raise RecordError(f"{_name(key)} is said to be withdrawn, it was not there")
        copies = self.hold.links[key[0]].withdrawn
        had_copy = key[1] in copies
        self._drop(key[0], self.hold.withdraw(*key, self._at(moment)))
        if not had_copy:  # what is due here may not have been released: see _take_withdrawn
            copies.discard(key[1])
        self._ripe.pop(key, None)
        self.dropped.pop(key, None)
        self._said_dropped.discard(key)

    def _forget_start(self, moment: int) -> None:
        """Let the run start anew where nothing was on disk yet: all that was accepted is accepted again."""
        if all(self._last_taken[key] >= moment for key in self.accepted):
            self.hold.start = None

    def _restart(self, entry: Entry) -> None:
        """Take over when the run started, as the broker that goes on knows it; earlier ones did not say."""
        self._forget_start(entry.moment)
        if entry.due is not None:
            self.hold.start = self._at(entry.due)

    def _redue_all(self, moment: int) -> None:
        for link in self.hold.links:
            self._redue(link.agent, moment)

    def _drop(self, agent: int, rounds: Sequence[int]) -> None:
        """Note that feedback is dropped which was held: its agent is told with the next round it asks for."""
        known = self.hold.collected[agent] + 2 if isinstance(self.hold, RoundsHold) else 0
        self.dropped |= {(agent, s): known for s in rounds}

    def _due_by(self, moment: int) -> dict[Key, int]:
        """Take out what is due by a moment (wall clock), with its due times.

        Not what a killed broker has released, seen or unseen, and another has accepted again: its agent may
        have had it by then, and have acknowledged it before it was due once more.
        """
        if not isinstance(self.hold, WallHold):
            return {}
        due = {(held.agent, held.round): held.due for held in self.hold.release(self._at(moment))}
        return {
            key: self._real(when)
            for key, when in due.items()
            if key not in self.lost and key not in self.released
        }

    def _due_about(self, key: Key, moment: int) -> int:
        """Return this moment, or when a feedback is due just after it: the broker adds up other floats."""
        held = self.hold.links[key[0]].held.get(key[1]) if key in self.accepted else None
        if held is None or math.isinf(held.due) or isinstance(self.hold, RoundsHold):
            return moment
        due = self._real(held.due)
        return due if moment < due <= moment + SLACK else moment

    def _none_left_behind(self) -> None:
        """Refuse that something is still there which was due earlier than what was released."""
        for key, due in self._ripe.items():
            if due + SLACK < self._newest and key not in self.unsure:
                raise RecordError(f"{_name(key)} was due before others that were released, and was not")

    def _nothing_forgotten(self) -> None:
        """Refuse that something was due long before the end and not released, or dropped and not told."""
        if forgotten := self._due_by(self._end - LATEST).keys() - self.unsure.keys():
            raise RecordError(f"{_name(min(forgotten))} was due and never released")
        self._none_overdue(self._due_by(self._end) | self._ripe, self._end)
        if not self.untold.spans and (untold := self.dropped.keys() - self._said_dropped):
            raise RecordError(f"{_name(min(untold))} is dropped by the plan, and the broker did not say so")

    def _none_overdue(self, due: Mapping[Key, int], end: int) -> None:
        """Refuse that much was accepted, up to a moment, while something was due that was not released.

        Whatever is accepted wakes the releaser, which then has its turn: see IN_A_TURN.
        """
        for key, moment in due.items():
            if key in self.unsure:
                continue
            since = max(moment, self._asked.get(key[0], 0))
            if bisect_left(self._told, end) - bisect_right(self._told, since) > self._patience:
                raise RecordError(f"{_name(key)} was due and never released")

    def _check_due(self, key: Key, said: int | None, due: float | None) -> None:
        """Compare a due time of the account with what the plan gives; None and infinity are never."""
        expected = None if due is None or math.isinf(due) else due
        if said is None or expected is None:
            same = said is None and expected is None
        elif isinstance(self.hold, RoundsHold):
            same = said == expected
        else:
            same = abs(said - self._real(expected)) <= SLACK
        if not same:
            raise RecordError(f"{_name(key)} is said to be due at {said}, by the plan it is {expected}")

    def asked_again(self, key: Key, t: int) -> bool:
        """Whether what a killed broker had dropped may have come with round t, from one that did not know."""
        revived = self.revived.get(key)
        return revived is not None and self._asked_for.get((key[0], t), self._end) > revived

    def begun_before(self, moment: int) -> int | None:
        """Return when the broker was last started again before a moment; None if it never was."""
        return max((span.begun for span in self.untold.spans if span.begun < moment), default=None)

    def _is_over(self, entry: Entry) -> bool:
        """Whether an acceptance is told from a journal that has no payload any more: all is done with it."""
        return self.recalled(entry) and entry.hash is None

    def recalled(self, entry: Entry) -> bool:
        """Whether it is told from a journal: the broker that accepted it had no time to say so.

        Perhaps not even that it began. When the feedback is due is not said.
        """
        return entry.due is None and self.untold.covers(entry.moment)

    def _check_place(self, key: Key) -> None:
        if not (0 <= key[0] < len(self.hold.links) and 1 <= key[1] <= self.hold.rounds):
            raise RecordError(f"{_name(key)} is not of this run")

    def _read_plan(self, entry: Entry) -> Plan:
        try:
            return plan_from_json(entry.plan or "", self._first.rules, self._at)
        except DataError as error:
            raise RecordError(f"plan {entry.version} of the broker's account: {error}") from None

    def _at(self, moment: int) -> float:
        """Return a moment in seconds from the account's first: floats are exact enough there."""
        return (moment - self._zero) / SECOND

    def _real(self, at: float) -> int:
        return self._zero + round(at * SECOND)


def _name(key: Key) -> str:
    return f"round {key[1]}, agent {key[0]}: the feedback"
