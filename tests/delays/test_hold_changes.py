"""Whatever is done to a broker by the wall clock, what it holds is due when a plain oracle says so.

Agents submit and acknowledge, time passes, the plan is edited, faults end, the disk fills up, the broker dies
and is started again: nothing comes early, nothing is lost, nothing that was acknowledged comes again.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import delay_oracle as oracle
import pytest
from bare_broker import Bare, InFiles, Told, World
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from known_broker import Known
from loopback_broker import scenario

from edgefw.delays import edits
from edgefw.delays.body import read_fault
from edgefw.errors import ExistsError, UnknownError, WireError

if TYPE_CHECKING:
    from edgefw.delays.entry import Moment
    from edgefw.delays.plan import Plan

AGENTS, ROUNDS = 2, 9
TIGHT, WIDE = (6, 9), (ROUNDS, AGENTS * ROUNDS)  # limits: on a link, in all

WHO = st.sampled_from([0, 1, None])
NAMES = st.sampled_from(["a", "b", "c"])


def seconds(least: int, most: int) -> st.SearchStrategy[str]:
    return st.integers(least, most).map(lambda n: f"{n}s")


def bodies() -> st.SearchStrategy[dict[str, Any]]:
    """Return faults whose every moment is a whole second."""
    when = {
        "apply_to": st.sampled_from(["pending", "pending", "new"]),
        "at": seconds(1, 6),
        "duration": seconds(1, 6),
    }
    kinds: list[dict[str, Any]] = [
        {"type": st.just("latency"), "latency": seconds(1, 7)},
        {"type": st.just("latency"), "trace": st.lists(seconds(0, 5), min_size=1, max_size=3)},
        {"type": st.just("blackout")},
        {"type": st.just("drop")},
        {
            "type": st.just("ramp"),
            **{name: seconds(0, 6) for name in ("start", "stop")},
            **{name: seconds(1, 3) for name in ("step", "interval")},
        },
        {"type": st.just("adversary"), "strategy": st.just("burst"), "period": seconds(1, 5)},
        {"type": st.just("adversary"), "strategy": st.just("until_end")},
    ]
    return st.one_of(*(st.fixed_dictionaries(kind, optional=when) for kind in kinds))


class Changes(RuleBasedStateMachine):
    """All that may happen, in any order."""

    disk: type[Told | InFiles] = Told

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.bare = Bare(self.world, self.disk(self.world))

    @initialize(
        faults=st.lists(st.tuples(st.sampled_from(["all", [0], [1]]), bodies()), max_size=2),
        limits=st.sampled_from([TIGHT, WIDE]),
        usual=seconds(0, 7),
        at_once=st.integers(0, 4),
    )
    def begin(
        self, faults: list[tuple[Any, dict[str, Any]]], limits: tuple[int, int], usual: str, at_once: int
    ) -> None:
        self.limits = limits
        faults = [("all", {"type": "latency", "latency": usual}), *faults]
        faults = [(agents, self.fitting(body)) for agents, body in faults]
        delays = [{**body, "agents": agents, "name": f"of-{p}"} for p, (agents, body) in enumerate(faults)]
        room = dict(zip(("link", "all"), limits, strict=True))
        entries = tuple(
            oracle.Entry(None if agents == "all" else agents[0], f"of-{p}", body, since=None)
            for p, (agents, body) in enumerate(faults)
        )
        run = scenario("wall", *delays, agents=AGENTS, rounds=ROUNDS, limits=room)
        self.known = Known(self.bare, run, oracle.Faults(entries))
        for s in range(1, at_once + 1):
            for agent in range(AGENTS):
                self.known.submit(agent, s, _payload(agent, s))

    def fitting(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the fault; one that would fill a broker with little room for good is refused, so another."""
        if self.limits == TIGHT and body.get("strategy") == "until_end":
            return body | {"strategy": "burst", "period": "4s"}
        return body

    @property
    def faults(self) -> oracle.Faults:
        return self.known.faults

    # -- what agents do --

    @rule(agent=st.integers(0, AGENTS - 1), s=st.integers(1, ROUNDS), honest=st.booleans())
    def submit(self, agent: int, s: int, honest: bool) -> None:  # noqa: FBT001 - drawn
        self.known.submit(agent, s, _payload(agent, s) if honest else b"another")

    @rule(agent=st.integers(0, AGENTS - 1), count=st.integers(1, 6), ticks=st.integers(0, 3))
    def submit_next(self, agent: int, count: int, ticks: int) -> None:
        self.time_passes(ticks)
        for _ in range(count):
            s = self.known.last(agent) + 1
            if s <= ROUNDS:
                self.known.submit(agent, s, _payload(agent, s))

    @precondition(lambda self: self.known.of("open"))
    @rule(data=st.data())
    def acknowledge(self, data: st.DataObject) -> None:
        if never := self.known.of("pending"):
            with pytest.raises(WireError, match="never delivered"):
                self.known.hold.acknowledge(never[0].agent, [never[0].round])
        agent = data.draw(st.sampled_from(self.known.of("open"))).agent
        mine = [each.round for each in self.known.of("open") if each.agent == agent]
        self.known.acknowledge(agent, data.draw(st.lists(st.sampled_from(mine), min_size=1)))

    # -- what the plan goes through --

    def posted(self, agent: int | None, name: str, body: dict[str, Any]) -> oracle.Entry:
        return oracle.Entry(agent, name, body, since=None if "at" in body else self.world.now)

    @rule(agent=WHO, name=NAMES, body=bodies())
    def add(self, agent: int | None, name: str, body: dict[str, Any]) -> None:
        body = self.fitting(body)
        fault = read_fault(body, self.known.hold.plan.rules).fault

        def change(plan: Plan, moment: Moment) -> Plan:
            return edits.add(plan, moment, agent, fault, name)

        if self.faults.find(agent, name) is not None:
            with pytest.raises(ExistsError):
                self.known.edit(change, lambda: self.faults)
            return
        entry = self.posted(agent, name, body)
        self.known.edit(change, lambda: replace(self.faults, entries=(*self.faults.entries, entry)))

    @precondition(lambda self: self.faults.entries)
    @rule(data=st.data())
    def change(self, data: st.DataObject) -> None:
        old = data.draw(st.sampled_from(self.faults.entries))
        patches = [
            {"duration": data.draw(seconds(1, 6))},
            {"apply_to": data.draw(st.sampled_from(["new", "pending"]))},
        ]
        if "latency" in old.body:
            patches.append({"latency": data.draw(seconds(1, 7))})
        patch = data.draw(st.sampled_from(patches))
        body = old.body | patch
        kept = self.world.now if "duration" in patch else old.since  # a duration counts from when it is given
        new = replace(old, body=body, since=None if "at" in body else kept)
        self.known.edit(
            lambda plan, moment: edits.change(plan, moment, old.agent, old.name, patch),
            lambda: replace(self.faults, entries=tuple(new if e is old else e for e in self.faults.entries)),
        )

    @rule(posted=st.dictionaries(st.tuples(WHO, NAMES), bodies(), max_size=3), data=st.data())
    def replace_all(self, posted: dict[tuple[int | None, str], dict[str, Any]], data: st.DataObject) -> None:
        some = st.lists(st.sampled_from((None, *self.faults.entries)), unique_by=id)
        kept = [each for each in data.draw(some) if each is not None]
        posted = {key: self.fitting(body) for key, body in posted.items()}
        posted |= {(e.agent, e.name): e.body for e in kept}
        rules = self.known.hold.plan.rules
        faults = [
            read_fault({**body, "name": name, "agents": "all" if agent is None else [agent]}, rules)
            for (agent, name), body in posted.items()
        ]
        entries = tuple(
            old if (old := self.faults.find(*key)) and _same(old.body, body) else self.posted(*key, body)
            for key, body in posted.items()
        )
        self.known.edit(
            lambda plan, moment: edits.replace(plan, moment, faults),
            lambda: replace(self.faults, entries=entries),
        )

    @rule(agent=WHO, name=NAMES, data=st.data())
    def remove(self, agent: int | None, name: str, data: st.DataObject) -> None:
        there = data.draw(st.sampled_from((None, *self.faults.entries)))
        if there is not None:
            agent, name = there.agent, there.name
        gone = self.faults.find(agent, name)

        def change(plan: Plan, _: Moment) -> Plan:
            return edits.remove(plan, agent, name)

        if gone is None:
            with pytest.raises(UnknownError):
                self.known.edit(change, lambda: self.faults)
        else:
            self.known.edit(change, lambda: self.faults.without([gone]))

    @rule(agent=st.sampled_from([0, 1, None]), enabled=st.booleans())
    def enable_or_reset(self, agent: int | None, enabled: bool) -> None:  # noqa: FBT001 - drawn
        if agent is None:
            self.known.edit(lambda plan, _: edits.reset(plan), lambda: replace(self.faults, entries=()))
            return
        links = self.faults.disabled
        self.known.edit(
            lambda plan, _: edits.enable(plan, agent, enabled=enabled),
            lambda: replace(self.faults, disabled=links - {agent} if enabled else links | {agent}),
        )

    # -- what the machine goes through --

    @rule(ticks=st.integers(1, 6))
    def time_passes(self, ticks: int) -> None:
        for _ in range(ticks):
            self.known.tick()

    @rule(full=st.booleans())
    def fill_the_disk_or_make_room(self, full: bool) -> None:  # noqa: FBT001 - drawn
        if self.disk is Told:  # `test_broker_full` has a real one
            self.known.fill(full=full)

    @precondition(lambda self: not self.known.full)
    @rule(cleanly=st.booleans(), ticks=st.integers(0, 3), reboots=st.booleans())
    def restart(self, cleanly: bool, ticks: int, reboots: bool) -> None:  # noqa: FBT001 - drawn
        self.known.restart(cleanly=cleanly, ticks=ticks, reboots=reboots)

    # -- what holds at any time --

    @invariant()
    def due_times_are_those_of_the_oracle(self) -> None:
        if (known := self.begun()) is not None:
            for link in known.hold.links:
                mine = [each for each in known.of("pending") if each.agent == link.agent]
                due = {held.round: held.due + self.world.booted for held in link.waiting()}
                assert due == {each.round: oracle.due(each, known.now) for each in mine}
                taken = {s for s in range(1, ROUNDS + 1) if link.taken(s)}
                assert taken == {s for i, s in known.feedback if i == link.agent}

    @invariant()
    def totals_are_those_of_what_is_held(self) -> None:
        if (known := self.begun()) is not None:
            pending = known.of("pending")
            first = min((oracle.due(each, known.now) for each in pending), default=math.inf)
            due = known.hold.next_due()
            assert due == (None if math.isinf(first) else first - self.world.booted)
            assert known.hold.pending == len(pending)
            held = known.of("pending", "open")
            assert known.hold.bytes == sum(len(known.payloads[each.key]) for each in held)

    @invariant()
    def the_plan_is_what_it_was_changed_to(self) -> None:
        if (known := self.begun()) is not None:
            plan = self.bare.control.plan
            assert [entry.key for entry in plan.entries] == [(e.agent, e.name) for e in known.faults.entries]
            assert plan.disabled == known.faults.disabled

    @invariant()
    def what_was_released_waits_for_its_agent(self) -> None:
        if (known := self.begun()) is not None:
            for agent in range(AGENTS):
                again = {held.round for held in known.hold.unacknowledged(agent)}
                assert again == {each.round for each in known.of("open") if each.agent == agent}

    def begun(self) -> Known | None:
        return getattr(self, "known", None)

    def teardown(self) -> None:
        self.bare.close()


class ChangesInFiles(Changes):
    """The same, with a journal in a file."""

    disk = InFiles


def _payload(agent: int, s: int) -> bytes:
    return bytes([agent, s]) * 3


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two faults differ in nothing but in saying what goes without saying."""
    default = {"apply_to": "pending" if one["type"] == "blackout" else "new"}
    return default | one == {"apply_to": "pending" if other["type"] == "blackout" else "new"} | other


TestChanges = Changes.TestCase
TestChanges.settings = settings(deadline=None, max_examples=90, stateful_step_count=50)
TestChangesInFiles = ChangesInFiles.TestCase
TestChangesInFiles.settings = settings(deadline=None, max_examples=15, stateful_step_count=40)
