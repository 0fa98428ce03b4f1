"""Bugs to be found: small mistakes that somebody might make in the services, each put in by patching them.

A bug is in force while the services of a universe run. What judges them afterwards is as it should be.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from edgefw.delays.hold import Hold, RoundsHold, Taken, WallHold
from edgefw.records import RunDatabase
from edgefw.services.agent import service
from edgefw.services.agent.checkpoints import CheckpointFolder
from edgefw.services.agent.inbox import Inbox
from edgefw.services.agent.memory import Memory
from edgefw.services.agent.snapshot import opened
from edgefw.services.broker import process, restore
from edgefw.services.broker.control import Control
from edgefw.services.broker.intake import Intake
from edgefw.services.broker.journal import health, opening
from edgefw.services.broker.journal.batch import Batch
from edgefw.services.broker.journal.journals import SqliteJournal
from edgefw.services.broker.journal.records import State
from edgefw.services.broker.journal.wal import Log
from edgefw.services.broker.journal.writer import Writer
from edgefw.services.broker.release import Outbox, Releaser
from edgefw.services.broker.service import Broker
from edgefw.services.broker.timeline import timeline_now
from edgefw.services.clock import completed
from edgefw.services.observer.ledger import Ledger
from edgefw.services.observer.streams import ReportServicer
from edgefw.transport.account_client import AccountClient
from edgefw.transport.observer_client import ObserverClient
from edgefw.transport.peer_link import PeerLink
from edgefw.transport.submissions import Submissions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Put = Callable[[pytest.MonkeyPatch], None]

BUGS: dict[str, Put] = {}


def _bug(name: str) -> Callable[[Put], Put]:
    def add(put: Put) -> Put:
        BUGS[name] = put
        return put

    return add


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Put a bug in while the block runs."""
    with pytest.MonkeyPatch.context() as patch:
        BUGS[name](patch)
        yield


def _around(patch: pytest.MonkeyPatch, owner: Any, name: str, call: Callable[..., Any]) -> None:
    """Put a function in place of another; it is handed the one that was there first of all."""
    right = getattr(owner, name)
    patch.setattr(owner, name, lambda *values, **named: call(right, *values, **named))


@_bug("feedback is acknowledged before its commit")
def _too_soon(patch: pytest.MonkeyPatch) -> None:
    _around(patch, Intake, "take", lambda right, *values: (right(*values)[0], completed()))


@_bug("feedback is released 20 ms early")
def _early(patch: pytest.MonkeyPatch) -> None:
    _around(patch, WallHold, "release", lambda right, hold, now: right(hold, now + 0.02))


@_bug("feedback comes a round early")
def _round_early(patch: pytest.MonkeyPatch) -> None:
    def advance(right: Any, hold: RoundsHold, link: Any, t: int) -> Any:
        gone = right(hold, link, t)
        for _, s in link.queue.pop_due(t + 1):
            hold._release(link, s)
        return gone

    _around(patch, RoundsHold, "_advance", advance)


@_bug("the last entry of the journal is forgotten on restart")
def _forgotten(patch: pytest.MonkeyPatch) -> None:
    def make(right: Any, scenario: Any, journal: Any) -> Any:
        if journal.restored is not None and journal.restored.rows:
            journal.restored.rows.pop()
        return right(scenario, journal)

    _around(patch, process, "make_or_restore", make)


@_bug("an agent uses feedback that is delivered again once more")
def _twice(patch: pytest.MonkeyPatch) -> None:
    def received(inbox: Inbox, feedback: Any, now: float) -> float:
        inbox._waiting[feedback.round] = feedback
        return now - inbox._since.pop(feedback.round, now)

    patch.setattr(Inbox, "received", received)


@_bug("a plan that was changed is not written")
def _no_version(patch: pytest.MonkeyPatch) -> None:
    def keep(batch: Batch, _version: int, _text: str, future: Any) -> None:
        batch.waiting.append(future)

    patch.setattr(Batch, "keep_plan", keep)


@_bug("the oldest plan is in force after a restart")
def _old_plan(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(restore, "max", min, raising=False)


@_bug("a change of the plan is answered before it is on disk")
def _plan_too_soon(patch: pytest.MonkeyPatch) -> None:
    async def keep(right: Any, control: Control, plan: Any) -> None:
        asyncio.get_running_loop().create_task(right(control, plan), name="keep the plan")

    _around(patch, Control, "_keep", keep)


@_bug("a change of the plan does not reach what is pending")
def _not_redue(patch: pytest.MonkeyPatch) -> None:
    def change(right: Any, hold: Hold, plan: Any) -> list[int]:
        right(hold, plan)
        return []

    _around(patch, Hold, "change", change)


@_bug("frames are resumed one too late")
def _resume(patch: pytest.MonkeyPatch) -> None:
    _around(patch, PeerLink, "_resume", lambda right, link, hello: right(link, hello) + bool(link._sent))


@_bug("a feedback is known by its round alone")
def _round_alone(patch: pytest.MonkeyPatch) -> None:
    def submit(right: Any, hold: Hold, agent: int, round_: int, *values: Any) -> Taken:
        if any(link.taken(round_) for link in hold.links):
            return Taken(0.0, dropped=False, new=False)
        found: Taken = right(hold, agent, round_, *values)
        return found

    _around(patch, Hold, "submit", submit)


@_bug("a lock is held while a subscription waits")
def _locked(patch: pytest.MonkeyPatch) -> None:
    locks: dict[int, asyncio.Lock] = {}

    async def send(right: Any, broker: Broker, outbox: Outbox, context: Any) -> None:
        async with locks.setdefault(id(broker), asyncio.Lock()):
            await right(broker, outbox, context)

    _around(patch, Broker, "_send", send)


@_bug("acknowledgements are not looked at")
def _no_acknowledgements(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(WallHold, "acknowledge", lambda _hold, _agent, _rounds: [])


@_bug("that feedback is done is not noted")
def _not_done(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SqliteJournal, "note_done", lambda _journal, _agent, _rounds: None)


@_bug("that feedback was dropped is not noted")
def _not_dropped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SqliteJournal, "note_dropped", lambda _journal, _agent, _rounds: None)


@_bug("when the run started is not noted")
def _no_start(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Batch, "note_start", lambda _batch, _start: None)


@_bug("times on disk are read by a clock that was set since")
def _clock_set(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(opening, "timeline_again", lambda _stored, clocks: timeline_now(clocks))


@_bug("only every other batch is committed at once")
def _lazy(patch: pytest.MonkeyPatch) -> None:
    def write(right: Any, writer: Writer, batch: Batch) -> Any:
        kept = getattr(writer, "_later", None)
        if kept is None and batch.rows:
            writer._later = batch  # type: ignore[attr-defined]
            return None
        if kept is not None:
            batch.rows = kept.rows | batch.rows
            batch.plans = kept.plans | batch.plans
            batch.inherit(kept)
            writer._later = None  # type: ignore[attr-defined]
        return right(writer, batch)

    _around(patch, Writer, "write", write)


@_bug("a full disk is taken for a commit")
def _full(patch: pytest.MonkeyPatch) -> None:
    def write(right: Any, writer: Writer, batch: Batch) -> None:
        right(writer, batch)

    _around(patch, Writer, "write", write)


@_bug("a torn tail is taken for damage")
def _damage(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Log, "lost", lambda log, recovered: log.left_out(recovered) > 0)


@_bug("a log that is begun anew is taken for damage")
def _begun_anew(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(health, "is_spent", lambda _log, _database: False)


@_bug("what could not be kept stays in memory")
def _not_withdrawn(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Hold, "withdraw", lambda _hold, _agent, _s, _now: [])


@_bug("accepted feedback is counted twice")
def _counted_twice(patch: pytest.MonkeyPatch) -> None:
    def kept(right: Any, intake: Intake, key: Any, taken: Any, commit: Any) -> None:
        right(intake, key, taken, commit)
        if taken.others or key[1] % 3 == 0:
            intake._metrics.accepted.labels(str(key[0])).inc()

    _around(patch, Intake, "_kept", kept)


@_bug("every stream of submissions leaves a task behind")
def _leak(patch: pytest.MonkeyPatch) -> None:
    async def serve(right: Any, intake: Intake, *values: Any) -> None:
        intake._left = asyncio.create_task(asyncio.Event().wait())  # type: ignore[attr-defined]
        await right(intake, *values)

    _around(patch, Intake, "serve", serve)


@_bug("a new subscription misses the first that is unacknowledged")
def _redelivery(patch: pytest.MonkeyPatch) -> None:
    def opened(right: Any, releaser: Releaser, agent: int) -> Outbox:
        outbox: Outbox = right(releaser, agent)
        if outbox._news:
            outbox._news.popleft()
        return outbox

    _around(patch, Releaser, "open", opened)


@_bug("what was under way when a stream broke is not submitted again")
def _not_again(patch: pytest.MonkeyPatch) -> None:
    async def converse(right: Any, submissions: Submissions, *values: Any) -> None:
        if getattr(submissions, "_used", False):
            submissions._kept = OrderedDict()
        submissions._used = True  # type: ignore[attr-defined]
        await right(submissions, *values)

    _around(patch, Submissions, "_converse", converse)


@_bug("the account is let go of before it is answered")
def _no_account(patch: pytest.MonkeyPatch) -> None:
    def pack(right: Any, client: AccountClient, messages: Any) -> Any:
        for entry in messages:
            client._kept.pop(entry.moment, None)
        return right(client, messages)

    _around(patch, AccountClient, "_pack", pack)


@_bug("the limits of a link are not looked at")
def _unlimited(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Hold, "_check_room", lambda _hold, _link, _size: None)


@_bug("feedback that was sent before a kill is done after it")
def _sent_is_done(patch: pytest.MonkeyPatch) -> None:
    def row(right: Any, *values: Any) -> Any:
        found = right(*values)
        return found._replace(state=State.DONE) if found.state is State.SENT else found

    _around(patch, opening, "_row", row)


@_bug("a play is scored before it is on record")
def _scored_early(patch: pytest.MonkeyPatch) -> None:
    _late(patch, "add", (), {})


@_bug("the account is answered before it is on record")
def _accounted_early(patch: pytest.MonkeyPatch) -> None:
    _late(patch, "add_account", ())


def _late(patch: pytest.MonkeyPatch, name: str, *nothing: Any) -> None:
    """Write to the record what came before, each time that something comes, and at the end."""

    def write(right: Any, database: RunDatabase, *values: Any) -> None:
        before = getattr(database, name + "_before", nothing)
        setattr(database, name + "_before", values)
        right(database, *before)

    def close(right: Any, database: RunDatabase) -> None:
        getattr(database, name)(*nothing)
        right(database)

    _around(patch, RunDatabase, name, write)
    _around(patch, RunDatabase, "close", close)


@_bug("an observer that goes on has forgotten what was reported")
def _reports_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ledger, "restore", lambda _ledger, _rows: None)


@_bug("an observer that goes on has forgotten which feedback was used")
def _arrivals_forgotten(patch: pytest.MonkeyPatch) -> None:
    def restore(right: Any, ledger: Ledger, rows: Any) -> None:
        right(ledger, [(t, agent, hash_, ()) for t, agent, hash_, _ in rows])

    _around(patch, Ledger, "restore", restore)


@_bug("reports that were under way when a stream broke are not sent again")
def _reports_not_again(patch: pytest.MonkeyPatch) -> None:
    async def converse(right: Any, client: ObserverClient, *values: Any) -> None:
        if getattr(client, "_used", False):
            client._kept.clear()
        client._used = True  # type: ignore[attr-defined]
        await right(client, *values)

    _around(patch, ObserverClient, "_converse", converse)


@_bug("a sweep begins before what it began with is on disk")
def _not_on_record(patch: pytest.MonkeyPatch) -> None:
    async def keep(right: Any, memory: Memory, *values: Any) -> None:
        memory._left = asyncio.create_task(right(memory, *values))  # type: ignore[attr-defined]

    _around(patch, Memory, "keep_arrivals", keep)


@_bug("what is on record since the last checkpoint is forgotten")
def _record_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(CheckpointFolder, "_records", lambda _files, _t: {})


@_bug("a checkpoint has no feedback that is on its way to the broker")
def _submissions_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(service, "opened", lambda sealed: replace(opened(sealed), submissions={}))


@_bug("a checkpoint has no plays that wait for the observer")
def _reports_not_kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(service, "opened", lambda sealed: replace(opened(sealed), reports={}))


@_bug("nobody goes back for a neighbour that is behind")
def _nobody_goes_back(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Memory, "behind", lambda _memory, _t: None)


@_bug("an agent that comes back is not told that the run is complete")
def _not_told(patch: pytest.MonkeyPatch) -> None:
    def servicer(right: Any, one: ReportServicer, *values: Any) -> None:
        right(one, *values)
        one._last = lambda _agent: None

    _around(patch, ReportServicer, "__init__", servicer)
    patch.setattr(service.AgentService, "_until_not_needed", lambda _agent: asyncio.Event().wait())
