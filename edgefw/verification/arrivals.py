"""Whether feedback was used when it can have been: the plays' arrivals against the broker's account.

Under the rounds clock arrivals follow from the plan, its changes and the order of what the broker did: they
have to be equal. By the wall clock only the broker's own clock is asked: no other can be compared with it.

*Not too early.* An agent submits round t after it has played it. So a feedback that was used on the way to
play t was released before round t was accepted.

*Not too late.* An agent uses what it has when its next sweep begins, and acknowledges only what it has. It
has at most UNANSWERED submissions open. So suppose that feedback s was acknowledged at moment a, and that
more than UNANSWERED of the rounds before u were accepted after a. Had sweep u begun before a, all of those
would have been open at its beginning: too many. So sweep u began after a, and s is used by play u or before.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING

from edgefw.core.account import UNANSWERED, Kind
from edgefw.errors import RecordError
from edgefw.verification.broker import SECOND, BrokerAgain
from edgefw.verification.outstanding import check_outstanding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from edgefw.records import PlayRow
    from edgefw.verification.broker import Key
    from edgefw.verification.record import Recorded

NO_ACCOUNT = (
    "run.sqlite has no account of the broker: whether feedback arrived when the plan says is not known"
)
HOLE = "the broker's account has a hole: whether feedback arrived when the plan says is not known"
SILENT = (
    "agent {agent} acknowledged no feedback from round {s} on, and played on: whether it had it is not known"
)
CUT_SHORT = "the broker's account ends before the run does: arrivals were checked up to round {t}"


SILENCE = 4 * UNANSWERED  # rounds that an agent may play on while its acknowledgements are on their way


def check_arrivals(recorded: Recorded) -> tuple[str, ...]:
    """Refuse arrivals that cannot have been; return what could not be checked."""
    account = recorded.account
    if not account:
        return (NO_ACCOUNT,)
    if any(entry.kind is Kind.LOST for entry in account):
        return (HOLE,)
    broker = BrokerAgain(recorded.setup.scenario, account)
    broker.run(account)
    known = _known_rounds(broker, recorded)
    rows = [row for rows in recorded.rounds[:known] for row in rows]
    unchecked: tuple[str, ...] = () if known == len(recorded.rounds) else (CUT_SHORT.format(t=known),)
    if recorded.setup.scenario.clock == "rounds":
        _check_equal(broker, rows)
    else:
        _check_order(broker, rows, account[-1].moment)
        unchecked += tuple(_silent(broker))
    check_outstanding(broker, rows)
    return unchecked


def _known_rounds(broker: BrokerAgain, recorded: Recorded) -> int:
    """Return up to which recorded round the account knows of every feedback.

    By the wall clock an agent submits some rounds at a time. Where one of them could not be kept, and later
    ones could, an account that ends then has no feedback of it: it is known up to there.
    """
    at_a_time = UNANSWERED if recorded.setup.scenario.clock == "wall" else 1
    last = dict.fromkeys(range(recorded.setup.n), 0)
    for agent, s in broker.accepted:
        last[agent] = max(last[agent], s)
    for agent, highest in last.items():
        for s in range(1, highest + 1):
            if (agent, s) in broker.accepted:
                continue
            if s <= highest - at_a_time:
                raise RecordError(f"round {s}, agent {agent}: the broker's account has no feedback of it")
            last[agent] = s - 1
            break
    known = min(len(recorded.rounds), *last.values())
    for rows in recorded.rounds[known : known + _open_at_the_end(recorded)]:
        if not all((row.agent, s) in broker.released for row in rows for s in row.arrivals):
            break
        known += 1
    return known


def _open_at_the_end(recorded: Recorded) -> int:
    """Return how many rounds an agent may have reported that were still open when all was ended."""
    cut_short = len(recorded.rounds) < recorded.setup.rounds
    return UNANSWERED if cut_short and recorded.setup.scenario.clock == "wall" else 0


def _check_equal(broker: BrokerAgain, rows: Sequence[PlayRow]) -> None:
    """Refuse, under the rounds clock, an F_{t-1} that is not what the plan gives."""
    came = {(row.agent, s): row.round - 1 for row in rows for s in row.arrivals}
    planned: dict[Key, list[int]] = {}
    for (agent, t), rounds in broker.arrivals.items():
        for s in rounds:
            planned.setdefault((agent, s), []).append(t)
    last = max((row.round - 1 for row in rows), default=0)
    for row in rows:
        expected = broker.arrivals.get((row.agent, row.round - 1), ())
        others = [(row.agent, s) for s in {*row.arrivals} ^ {*expected}]
        if not all(_may_differ(broker, key, came.get(key), planned.get(key, []), last) for key in others):
            raise RecordError(
                f"round {row.round}, agent {row.agent}: the arrivals are {list(row.arrivals)}, "
                f"by the plan they are {list(expected)}"
            )


def _may_differ(broker: BrokerAgain, key: Key, came: int | None, planned: Sequence[int], last: int) -> bool:
    """Whether a feedback may have come with a round, or not at all, where the plan in force is not known.

    A broker that was killed, and had not told that its plan was changed, may have given it out with any round
    that it was asked for then. What it did not, the next one gives by its own plan: see `planned`.
    """
    unseen = broker.unseen
    if came is not None:
        return (key[0], came) in unseen or came in planned or broker.asked_again(key, came)
    return all((key[0], t) in unseen for t in planned if t <= last)


def _check_order(broker: BrokerAgain, rows: Sequence[PlayRow], end: int) -> None:
    """Refuse, by the wall clock, what is used before its release, or long after it was acknowledged."""
    used: dict[Key, int] = {}
    unseen = _Unseen(broker)
    for row in rows:
        for s in row.arrivals:
            if not unseen.may_have_come((row.agent, s)):
                _check_not_early(broker, row, s, end)
            used[row.agent, s] = row.round
    latest = rows[-1].round if rows else 0
    for (agent, s), acknowledged in broker.acknowledged.items():
        u = _must_be_used_by(broker, agent, s, acknowledged)
        if u <= latest and used.get((agent, s), latest + 1) > u:
            raise RecordError(
                f"round {s}, agent {agent}: the feedback was acknowledged, and was not used by round {u}"
            )


def _silent(broker: BrokerAgain) -> Iterator[str]:
    """Yield who acknowledged nothing for long though it played on; refuse acknowledgements out of order.

    Feedback goes out in the order of its release, all that is not acknowledged again on a new stream, and
    agents acknowledge in the order in which it comes.
    """
    for agent in range(len(broker.hold.links)):
        released = sorted((m, s) for (i, s), m in broker.released.items() if i == agent)
        open_ = [(m, s) for m, s in released if (agent, s) not in broker.acknowledged]
        open_ = [(m, s) for m, s in open_ if not broker.untold.since(m)]
        done = [m for m, s in released if (agent, s) in broker.acknowledged]
        if open_ and done and open_[0][0] < done[-1]:
            raise RecordError(
                f"round {open_[0][1]}, agent {agent}: the feedback was released before others "
                "that were acknowledged, and was not"
            )
        if open_ and _played_on(broker, agent, open_[0][0]):
            yield SILENT.format(agent=agent, s=open_[0][1])


def _played_on(broker: BrokerAgain, agent: int, moment: int) -> bool:
    """Whether an agent went on for long after a moment."""
    later = [e.moment for (i, _), e in broker.accepted.items() if i == agent and e.moment > moment]
    return len(later) > SILENCE and max(later) > moment + SECOND


def _check_not_early(broker: BrokerAgain, row: PlayRow, s: int, end: int) -> None:
    key, entry = (row.agent, s), broker.accepted.get((row.agent, row.round))
    accepted = end if entry is None else entry.moment
    place = f"round {row.round}, agent {row.agent}: the feedback of round {s}"
    if key in broker.dropped and key not in broker.unsure and key not in broker.withdrawn:
        raise RecordError(f"{place} was used, and was dropped")
    moments = (each.get(key) for each in (broker.withdrawn, broker.lost, broker.unsure, broker.released))
    known = min((moment for moment in moments if moment is not None), default=None)
    if known is None:
        raise RecordError(f"{place} was used, and was never released")
    if known > accepted:
        raise RecordError(f"{place} was used {(known - accepted) / 1e9:.3f} s or more before it was released")


class _Unseen:
    """What a killed broker may have released that only the next one has on record.

    It gives out what is due at once, also where that is on no disk yet. Only what its agent had open when it
    was killed can have gone that way: the first that are accepted afterwards. Where the next one was killed,
    too, that it began may be on no record: what it accepted was told by the one after it.
    """

    def __init__(self, broker: BrokerAgain) -> None:
        self._broker = broker
        self._moments: dict[int, list[int]] = {}  # of all acceptances of an agent, in order,
        self._recalled: dict[int, list[int]] = {}  # and of those that were told from a journal
        for entry in sorted(broker.accepted.values(), key=attrgetter("moment")):
            self._moments.setdefault(entry.agent, []).append(entry.moment)
            if broker.recalled(entry):
                self._recalled.setdefault(entry.agent, []).append(entry.moment)

    def may_have_come(self, key: Key) -> bool:
        """Whether a feedback may have come before it was accepted by the broker that is on record."""
        entry = self._broker.accepted.get(key)
        if entry is None:
            return False
        if self._broker.recalled(entry):
            return bisect_left(self._recalled[entry.agent], entry.moment) < UNANSWERED
        begun, moments = self._broker.begun_before(entry.moment), self._moments[entry.agent]
        return (
            begun is not None
            and bisect_left(moments, entry.moment) - bisect_right(moments, begun) < UNANSWERED
        )


def _must_be_used_by(broker: BrokerAgain, agent: int, s: int, acknowledged: int) -> int:
    """Return the first play that cannot but use feedback s, acknowledged at this moment (see above)."""
    later = 0
    for v in range(s + 1, broker.hold.rounds + 1):
        entry = broker.accepted.get((agent, v))
        later += entry is not None and entry.moment > acknowledged
        if later > UNANSWERED:
            return v + 1
    return broker.hold.rounds + 1
