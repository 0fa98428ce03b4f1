"""What must be so in every universe, whatever has happened in it.

`now` is asked after every event, `broker` once all is quiet, `at_the_end` when every service has ended;
`of_record` asks what the run has left behind. What feedback came when is judged by the record's own
verification and by what was seen on the wire.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from edgefw.delays.book import ArrivalBook
from edgefw.errors import InputError
from edgefw.scenario.plan import check_simulable
from edgefw.services.broker.journal.records import State
from edgefw.services.broker.journal.schema import ROUND_BITS
from edgefw.services.broker.service import Broker
from edgefw.simulator import arrived
from edgefw.verification.record import read
from edgefw.verification.verdict import verify
from universes.draw import drops

if TYPE_CHECKING:
    from edgefw.delays.hold import Hold
    from edgefw.delays.link import Link
    from edgefw.scenario.model import Scenario
    from universes.wire import Key
    from universes.world import World

TASKS = 16  # of a broker that nobody speaks to, and
TASKS_EACH = 8  # more for each call of it
_FILES = {"scenario.yaml", "run.sqlite", "summary.json"}


class Checks:
    """Looks at a world, and tells it what is wrong."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._before: dict[int, tuple[int, int, int]] = {}  # what the present broker knew when it began
        self._restored: dict[int, int] = {}  # how much was pending for every agent then
        self._known: Broker | None = None
        world.network.began = self._begun

    def now(self) -> None:
        """Check what holds at any moment."""
        world = self._world
        for wrong in world.wire.wrong:
            world.violated(wrong)
        world.wire.wrong.clear()
        broker = self._broker()
        if broker is None or world.started is None:
            return
        hold = broker._hold
        self._bounded(hold)
        self._counted(hold)
        life = world.started.life
        tasks = life.living_tasks()
        # A call that has ended just now, or while the broker stood still, has the tasks that serve it yet.
        served = sum(task.get_name().startswith("/") for task in tasks)
        calls = served + sum(life is call.client for call in world.network.calls)
        known = world.loop.time() > world.heard and not life.paused  # else it has not heard of all
        wrong = f"the broker has {len(tasks)} tasks and {calls} calls"
        self._require(not known or len(tasks) <= TASKS + TASKS_EACH * calls, wrong)

    def broker(self) -> None:
        """Check a broker that has had the time to do all that it was asked to."""
        self.now()
        broker = self._broker()
        if broker is None:
            return
        self._told(broker)
        states = self._states()
        self._none_lost(states)
        self._on_disk(broker._hold, states)

    def holds(self) -> bool:
        """Whether the broker holds any feedback."""
        broker = self._broker()
        return broker is not None and any(link.held for link in broker._hold.links)

    def is_written(self) -> bool:
        """Whether all that the broker has noted is on its disk."""
        broker = self._broker()
        journal: Any = None if broker is None else broker._journal
        return journal is not None and journal._timer is None and not journal._batch and self._world.disk.idle

    def at_the_end(self) -> None:
        """Check that nothing is left behind."""
        world = self._world
        for life in world.lives:
            left = [] if life.dead else sorted(task.get_name() for task in life.living_tasks())
            self._require(not left, f"{life} has ended and left tasks behind: {left}")
        others = asyncio.all_tasks(world.loop) - {asyncio.current_task()}
        dead = {task for life in world.lives if life.dead for task in life.tasks}
        self._require(not others - dead, f"tasks are left behind: {others - dead}")
        self._require(not world.network.calls, f"calls are left behind: {world.network.calls}")
        self._require(not world.network.listening, f"somebody still listens: {world.network.listening}")
        files = {path.name for path in world.folder.path.iterdir()}
        self._require(files == _FILES, f"the run folder has {sorted(files)}")
        damaged = [path.name for path in world.disk.journal.parent.glob("*corrupt*")]
        self._require(not damaged, f"a journal was set aside: {damaged}")
        self._states()

    def of_record(self) -> None:
        """Check what the run has left, once it is over: it is what happened, and nothing came early."""
        world = self._world
        recorded = read(world.folder)
        verdict = verify(recorded)
        self._require(verdict.refusal is None, f"the record does not verify: {verdict.refusal}")
        self._require(verdict.mismatch is None, f"the record does not verify: {verdict.mismatch}")
        self._require(
            verdict.rounds == verdict.planned, f"{verdict.rounds} of {verdict.planned} rounds are recorded"
        )
        undisturbed = not world.happened
        self._require(verdict.passed or not undisturbed, f"undisturbed, and yet: {verdict.unchecked}")
        changed = any(event.kind == "plan" for event in world.universe.events)
        if world.universe.clock == "rounds" and not changed and _is_simulable(world.setup.scenario):
            self._as_undisturbed(recorded.rounds)
        self._used_as_received(recorded.rounds)
        places = tuple(map(str, (world.folder.path, world.disk.journal.parent)))  # not those of the dead
        files = [path for path in _open_files() if path.startswith(places) and not path.endswith("(deleted)")]
        self._require(not files, f"files are left open: {files}")

    # -- how --

    def _require(self, holds: object, otherwise: str) -> None:
        if not holds:
            self._world.violated(otherwise)

    def _broker(self) -> Broker | None:
        """Return the broker that serves now; note what it has when it is first seen."""
        world = self._world
        server = world.network.servers.get(world.places.broker.address)
        if server is None or world.started is None:
            return None
        for handler in server._methods.values():
            method = handler.stream_stream or handler.unary_stream or handler.unary_unary
            if isinstance(found := getattr(method, "__self__", None), Broker):
                return found
        return None

    def _bounded(self, hold: Hold) -> None:
        """Check the limits. What a killed broker had delivered is pending again, and may be more."""
        limits, restored = hold.limits, self._restored
        for link in hold.links:
            most = max(limits.link, restored.get(link.agent, 0))
            self._require(
                link.pending <= most, f"{link.pending} are pending for agent {link.agent}: too many"
            )
        most = max(limits.all, sum(restored.values()))
        self._require(hold.pending <= most, f"{hold.pending} are pending: too many")

    def _counted(self, hold: Hold) -> None:
        pending = sum(link.pending for link in hold.links)
        held = sum(len(each.payload) for link in hold.links for each in link.held.values())
        self._require(hold.pending == pending, f"{pending} are pending, {hold.pending} are counted")
        self._require(hold.bytes == held, f"{held} bytes are held, {hold.bytes} are counted")

    def _told(self, broker: Broker) -> None:
        """Compare the broker's metrics with what it did since it began."""
        metrics = broker.control.registry.collect()
        values = {
            (each.name, each.labels.get("agent")): each.value for one in metrics for each in one.samples
        }
        for link in broker._hold.links:
            was = self._before[link.agent]
            for name, now, then in zip(("accepted", "dropped", "delivered"), _counts(link), was, strict=True):
                told = values.get((f"edgefw_broker_{name}_total", str(link.agent)))
                what = f"agent {link.agent}: {told} are told as {name}, it was {now - then}"
                self._require(told == now - then or self._came_twice(name, told, now - then), what)

    def _begun(self) -> None:
        broker = self._broker()
        if broker is not None and broker is not self._known:
            self._known = broker
            self._before = {link.agent: _counts(link) for link in broker._hold.links}
            self._restored = {link.agent: link.pending for link in broker._hold.links}

    def _came_twice(self, name: str, told: float | None, count: int) -> bool:
        """Whether there may have been a second copy: the first was acknowledged and could not be kept."""
        full = any(event.kind == "full" for event in self._world.universe.events)
        return full and name == "delivered" and told is not None and told > count

    def _none_lost(self, states: dict[Key, tuple[State, bytes | None]]) -> None:
        """Compare what agents were promised with what they got and what is on disk."""
        wire = self._world.wire
        may_drop = drops(self._world.universe)
        for key, dropped in sorted(wire.answered.items()):
            state, payload = states.get(key, (None, None))
            name = f"agent {key[0]}, round {key[1]}"
            if state is None:
                self._require(False, f"{name}: accepted, and not on disk")
            elif state is State.DROPPED or dropped:
                self._require(may_drop, f"{name}: dropped, and no fault does that")
                self._require(
                    state is State.DROPPED, f"{name}: said to be dropped, on disk it is {state.name}"
                )
                self._require(not dropped or not self._given_since(key), f"{name}: dropped, and delivered")
            elif state is State.DONE:
                self._require(key in wire.received, f"{name}: done, and never delivered")
            else:
                self._require(payload == wire.submitted[key], f"{name}: other bytes on disk")
                owed = self._world.universe.clock == "wall"
                self._require(not owed, f"{name}: accepted, and not delivered when no fault was left")

    def _given_since(self, key: Key) -> bool:
        """Whether a feedback was delivered by the broker that promised something of it first, or a later one.

        What is due is given out at once. One that is killed before that is on disk has promised nothing: the
        next one knows nothing of it, and decides anew when it is submitted again.
        """
        wire, lives = self._world.wire, self._world.lives
        since = lives[lives.index(wire.promised[key]) :]
        return not wire.givers.get(key, set()).isdisjoint(since)

    def _on_disk(self, hold: Hold, states: dict[Key, tuple[State, bytes | None]]) -> None:
        """Compare what the broker knows with what the next one would find."""
        for (agent, s), (state, _) in sorted(states.items()):
            link = hold.links[agent]
            known = State.DROPPED if link.dropped(s) else State.SENT if s in link.held else State.DONE
            same = state is known or (known is State.SENT and state is State.PENDING)
            self._require(same, f"agent {agent}, round {s}: {known.name} in memory, {state.name} on disk")

    def _states(self) -> dict[Key, tuple[State, bytes | None]]:
        """Return what the journal says of every feedback."""
        journal = self._world.disk.journal
        copy = journal.with_name("look.sqlite")
        for suffix in ("", "-wal"):
            if (file := journal.with_name(journal.name + suffix)).exists():
                copy.with_name(copy.name + suffix).write_bytes(file.read_bytes())
        query = "SELECT f.id, state, bytes FROM feedback AS f LEFT JOIN payload AS p ON p.id = f.id"
        with closing(sqlite3.connect(copy)) as database:
            rows = database.execute(query).fetchall()
        mask = (1 << ROUND_BITS) - 1
        return {(key >> ROUND_BITS, key & mask): (State(state), payload) for key, state, payload in rows}

    def _as_undisturbed(self, rounds: Any) -> None:
        """Compare what was used when with what the plan alone gives."""
        book = ArrivalBook(self._world.setup.delays)
        for rows in rounds:
            came = arrived(book, rows[0].round - 1)
            for row in rows:
                expected = tuple(sorted(came.get(row.agent, ())))
                self._require(
                    tuple(row.arrivals) == expected,
                    f"agent {row.agent}, round {row.round}: used {row.arrivals}, undisturbed {expected}",
                )

    def _used_as_received(self, rounds: Any) -> None:
        used = [(row.agent, s) for rows in rounds for row in rows for s in row.arrivals]
        self._require(len(used) == len(set(used)), "a feedback was used twice")
        received = self._world.wire.received
        self._require(not set(used) - received.keys(), "a feedback was used that never came")


def _is_simulable(scenario: Scenario) -> bool:
    try:
        check_simulable(scenario)
    except InputError:
        return False
    return True


def _counts(link: Link) -> tuple[int, int, int]:
    """Return how many were accepted, dropped and delivered so far."""
    return link.count, link.lost, link.delivered


def _open_files() -> list[str]:
    found = []
    for number in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names are all that is wanted
        try:
            found.append(os.readlink(f"/proc/self/fd/{number}"))  # noqa: PTH115 - a link to nowhere will do
        except OSError:
            continue
    return found
