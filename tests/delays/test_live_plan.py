"""A plan that changes while the broker runs: what was posted, what is over, what is written down."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from work import steps

from edgefw.delays.blackout import Blackout
from edgefw.delays.dues import Messages, round_dues, wall_dues
from edgefw.delays.entry import Moment, PlanEntry
from edgefw.delays.fault import Rules
from edgefw.delays.latency import Latency
from edgefw.delays.link_id import feedback_links
from edgefw.delays.on_link import ALWAYS
from edgefw.delays.plan import Plan, plan_from_json, plan_to_json
from edgefw.delays.registry import AnyFault
from edgefw.errors import DataError, InputError

WALL = Rules("wall", feedback_links(3), rounds=40, seed=7, round_seconds=0.5)
ROUNDS = Rules("rounds", feedback_links(3), rounds=40, seed=7, round_seconds=None)
READ: TypeAdapter[AnyFault] = TypeAdapter(AnyFault)
SECOND: dict[str, Any] = {"type": "latency", "latency": "1s"}
START = 100.0


def entry(name: str = "it", agent: int | None = None, **rest: Any) -> PlanEntry:
    timing = {key: rest.pop(key) for key in ("since", "since_rounds", "salt") if key in rest}
    return PlanEntry(agent, name, READ.validate_python(rest), **{"salt": 3, **timing})


def plan(*entries: PlanEntry, rules: Rules = WALL, disabled: tuple[int, ...] = ()) -> Plan:
    return Plan(rules, 1, entries, frozenset(disabled))


def spans(made: Plan, agent: int = 0, start: float | None = START) -> list[tuple[float, float]]:
    return [each.span for each in (*made.own(agent, start), *made.later(agent, start))]


def test_an_entry_is_on_one_link_or_on_all() -> None:
    made = entry("slow", 2, type="drop")
    assert made.key == (2, "slow")
    assert [made.concerns(agent) for agent in range(3)] == [False, False, True]
    assert entry(type="drop").concerns(1)
    assert made == dataclasses.replace(made)


def test_faults_act_on_what_is_new_or_on_what_is_pending() -> None:
    made = plan(
        entry("a", **SECOND),
        entry("b", **SECOND, apply_to="pending"),
        entry("c", type="blackout"),
        entry("d", type="blackout", apply_to="new"),
        entry("e", 1, **SECOND),
    )
    assert [type(each.fault) for each in made.own(0, START)] == [Latency, Blackout]
    assert [type(each.fault) for each in made.own(1, START)] == [Latency, Blackout, Latency]
    assert [type(each.fault) for each in made.later(0, START)] == [Latency, Blackout]
    assert made.own(0, START) is made.own(0, START)


def test_a_disabled_link_holds_everything_without_end() -> None:
    for rules in (WALL, ROUNDS):
        made = plan(rules=rules, disabled=(1,))
        assert made.later(0, START) == ()
        (outage,) = made.later(1, START)
        assert (type(outage.fault), outage.span) == (Blackout, ALWAYS)
        batch = Messages(np.array([1]), np.array([START]), np.array([0.0]))
        found = wall_dues((), made.later(1, START), batch, rules, now=START, start=START, ended=False)
        if rules is ROUNDS:
            found = round_dues((), made.later(1, None), batch, rules)
        assert (found.due.tolist(), found.dropped.tolist()) == ([math.inf], [False])


def test_what_is_posted_counts_from_then_and_the_scenarios_from_the_start() -> None:
    made = plan(
        entry("a", **SECOND, duration="5s", since=130.0),
        entry("b", **SECOND, since=130.0),
        entry("c", **SECOND, at="10s", duration="5s"),
        entry("d", **SECOND),
        entry("e", **SECOND, duration=4, since=130.0),  # rounds of half a second
        entry("f", type="blackout", duration="5s", since=130.0),
    )
    assert spans(made) == [
        (130, 135),
        (130, math.inf),
        (110, 115),
        (100, math.inf),
        (130, 132),
        (130, 135),
    ]
    assert spans(made, start=None)[2] == (math.inf, math.inf)  # nothing has been submitted: not yet
    slow = dataclasses.replace(WALL, round_seconds=None)
    with pytest.raises(InputError, match=r"^e\.duration is 4 rounds, and rounds have no fixed length"):
        plan(*made.entries, rules=slow).check()


def test_in_rounds_what_is_posted_counts_from_the_last_submitted_round_of_each_link() -> None:
    made = plan(
        entry("a", type="rounds", rounds=4, duration=3, since_rounds=(5, 0, 9)),
        entry("b", type="drop", since_rounds=(5, 0, 9)),
        entry("c", type="drop", at=7, duration=2),
        rules=ROUNDS,
    )
    windows = [[each.window for each in made.own(agent, None)] for agent in range(3)]
    assert windows == [
        [(6, 9), (6, None), (7, 9)],
        [(1, 4), None, (7, 9)],
        [(10, 13), (10, None), (7, 9)],
    ]


def test_the_next_moment_is_an_end_or_a_beginning_that_matters_to_what_is_pending() -> None:
    made = plan(
        entry("a", **SECOND, at="10s", duration="5s"),
        entry("b", **SECOND, at="20s", apply_to="pending"),
        entry("c", **SECOND, duration="3s", since=103.0),
        entry("d", **SECOND, at=5, duration=2),  # rounds: no moment
        entry("e", type="blackout", at=61, duration=20),  # after 30 s, for 10 s
    )
    moments, now = [], START
    while (now_or_none := made.next_moment(now, START)) is not None:
        moments.append(now := now_or_none)
    assert moments == [106, 115, 120, 130, 140]
    assert made.next_moment(START, None) == 106
    assert plan(rules=ROUNDS).next_moment(0.0, None) is None


def test_an_entry_is_over_by_the_clock() -> None:
    made = plan(
        entry("a", **SECOND, at="10s", duration="5s"),
        entry("b", **SECOND, duration="3s", since=113.0),
        entry("c", **SECOND, since=0.0),
        entry("d", 1, **SECOND, at=5, duration=2),
    )

    def over(now: float, start: float | None = START, rounds: tuple[int, ...] = (0, 0, 0)) -> str:
        return "".join(each.name for each in made.over(Moment(now, rounds), start))

    assert [over(114.9), over(115.0), over(116.0)] == ["", "a", "ab"]
    assert over(1e9, None) == "b"
    assert [over(100.0, rounds=(9, 5, 9)), over(100.0, rounds=(0, 6, 0))] == ["", "d"]


def test_an_entry_in_rounds_is_over_when_every_link_has_passed_it() -> None:
    made = plan(
        entry("a", type="rounds", rounds=4, duration=3, since_rounds=(5, 0, 9)),
        entry("b", 0, type="blackout", duration=3, since_rounds=(5, 0, 9)),
        entry("c", type="drop"),
        rules=ROUNDS,
    )

    def over(*rounds: int) -> str:
        return "".join(each.name for each in made.over(Moment(0.0, rounds), None))

    assert over(8, 3, 11) == ""
    assert over(8, 3, 12) == "a"
    assert over(9, 3, 11) == "b"  # what it holds comes with round 9, collected after that is submitted


def test_the_end_of_a_blackout_in_rounds_changes_no_arrival() -> None:
    held = plan(entry(type="blackout", at=5, duration=4), rules=ROUNDS)
    batch = Messages(np.array([6, 7, 9]), np.zeros(3), np.zeros(3))
    during = round_dues((), held.later(0, None), batch, ROUNDS)
    assert not held.over(Moment(0.0, (8, 8, 8)), None)
    assert held.over(Moment(0.0, (9, 9, 9)), None)
    after = round_dues((), (), batch, ROUNDS, now=9)
    assert during.due.tolist() == after.due.tolist() == [9, 9, 9]


def longest(*faults: dict[str, Any], disabled: tuple[int, ...] = (), T: int = 900) -> int | None:
    entries = [
        entry(f"e{k}", **{"agent": None, **fault}, since_rounds=None) for k, fault in enumerate(faults)
    ]
    return plan(*entries, rules=dataclasses.replace(ROUNDS, rounds=T), disabled=disabled).longest()


def test_the_longest_delay_is_what_adds_up_on_the_worst_link() -> None:
    assert longest() == 1
    assert longest({"type": "rounds", "rounds": 501}) == 501
    assert longest({"type": "rounds", "rounds": 501}, T=100) == 100
    assert longest({"type": "rounds", "rounds": 12, "jitter": 9}, {"type": "rounds", "trace": [1, 7]}) == 27
    ones = {"type": "rounds", "rounds": 5, "agent": 1}
    assert longest(ones, {**ones, "agent": 2}, {**ones, "agent": 1}) == 9
    ramp = {"type": "ramp", "start": 9, "stop": 2, "step": 1, "interval": 1}
    assert longest(ramp, {"type": "drop"}) == 9
    assert longest({"type": "blackout", "at": 5, "duration": 10}) == 11
    assert longest({"type": "blackout"}) == longest({"type": "adversary", "strategy": "until_end"}) == 900
    for strategy, delay in (("burst", 10), ("largest", 10), ("newest_first", 19), ("starve", 1)):
        assert longest({"type": "adversary", "strategy": strategy, "period": 10}) == delay
    assert longest({"type": "rounds", "rounds": 3, "jitter": 2, "distribution": "pareto"}) is None
    assert longest({"type": "rounds", "rounds": 3, "distribution": "pareto"}) == 3
    assert longest(disabled=(0,)) == 900


def test_one_link_has_no_two_entries_of_a_name() -> None:
    plan(entry("a", 0, type="drop"), entry("a", 1, type="drop"), entry("a", type="drop")).check()
    with pytest.raises(InputError, match="two faults named 'a' on one link"):
        plan(entry("a", 0, type="drop"), entry("a", 0, **SECOND)).check()


TIMES = st.integers(0, 2**30).map(lambda ticks: ticks / 512)  # whole nanoseconds, and exact in binary
WINDOW = {"at": st.sampled_from(["0s", "1.5s", "90s"]), "duration": st.sampled_from(["1ms", "2s", "1.25h"])}
COMMON = {"probability": st.floats(0, 1), "apply_to": st.sampled_from(["new", "pending"]), **WINDOW}
SECONDS = st.floats(0, 1e6).map(lambda seconds: f"{seconds:.9f}s")
BODIES = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("latency"), "latency": SECONDS, "jitter": SECONDS},
        optional=COMMON | {"seed": st.integers(0, 2**53), "correlation": st.floats(0, 1)},
    ),
    st.fixed_dictionaries({"type": st.just("latency"), "trace": st.lists(SECONDS, min_size=1)}),
    st.fixed_dictionaries({"type": st.sampled_from(["drop", "blackout"])}, optional=COMMON),
    st.fixed_dictionaries(
        {
            "type": st.just("adversary"),
            "strategy": st.just("largest"),
            "period": st.just("5s") | st.integers(1, 9),
            "share": st.floats(0.01, 1),
        },
        optional=COMMON,
    ),
)
ENTRIES = st.builds(
    PlanEntry,
    st.none() | st.integers(0, 2),
    st.from_regex("[A-Za-z0-9][A-Za-z0-9._-]{0,9}", fullmatch=True),
    BODIES.map(READ.validate_python),
    st.integers(0, 2**56),
    st.none() | TIMES,
)
PLANS = st.builds(
    Plan,
    st.just(WALL),
    st.integers(1, 2**40),
    st.lists(ENTRIES, max_size=4, unique_by=lambda each: each.key).map(tuple),
    st.frozensets(st.integers(0, 2)),
)


@settings(deadline=None, max_examples=150)
@given(PLANS, st.integers(0, 2**60))
def test_a_plan_that_is_written_down_is_read_back(made: Plan, offset: int) -> None:
    text = plan_to_json(made, lambda moment: round(moment * 1e9) + offset)
    back = plan_from_json(text, WALL, lambda real: (real - offset) / 1e9)
    assert back == made
    assert [repr(each.fault) for each in back.entries] == [repr(each.fault) for each in made.entries]
    assert "\n" not in text


def test_rounds_are_written_down_too() -> None:
    made = plan(
        entry("a", type="rounds", rounds=4, duration=3, since_rounds=(5, 0, 9)), rules=ROUNDS, disabled=(2, 0)
    )
    assert plan_from_json(plan_to_json(made, round), ROUNDS, float) == made


WRITTEN = '{"version": 1, "disabled": [], "entries": [ENTRY]}'
ENTRY = '{"agent": 0, "name": "a", "salt": 1, "since": null, "since_rounds": null, "fault": {"type": "drop"}}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"version": 1, "disabled": [9], "entries": []}',
        WRITTEN.replace("ENTRY", "{}"),
        WRITTEN.replace("ENTRY", "5"),
        WRITTEN.replace("ENTRY", ENTRY.replace('"agent": 0', '"agent": 9')),
        WRITTEN.replace("ENTRY", ENTRY.replace("drop", "dorp")),
        WRITTEN.replace("ENTRY", ENTRY.replace("drop", "rounds")),  # of the other clock
    ],
)
def test_what_is_no_plan_is_said_in_a_line(text: str) -> None:
    with pytest.raises(DataError, match="this is no delay plan of the run") as caught:
        plan_from_json(text, WALL, float)
    assert "\n" not in str(caught.value)
    assert plan_from_json(WRITTEN.replace("ENTRY", ENTRY), WALL, float).entries[0].name == "a"


def test_the_text_of_a_plan_says_only_what_is_given() -> None:
    document = json.loads(plan_to_json(plan(entry(**SECOND)), round))
    assert "trace" not in document["entries"][0]["fault"]


def test_in_force_is_what_has_begun_and_is_not_over() -> None:
    made = plan(
        entry("from the start", **SECOND),
        entry("event", **SECOND, at="10s", duration="5s"),
        entry("posted", 1, **SECOND, since=START + 3, duration="4s"),
        entry("of rounds", **SECOND, at=5, duration=2),
    )

    def names(agent: int, after: float, submitted: int) -> list[str]:
        return [each.name for each in made.in_force(agent, START + after, submitted, START)]

    assert names(0, 0.0, 0) == ["from the start"]
    assert names(1, 3.0, 3) == ["from the start", "posted"]
    assert names(0, 3.0, 4) == ["from the start", "of rounds"]
    assert names(1, 7.0, 6) == ["from the start"]
    assert names(0, 10.0, 9) == ["from the start", "event"]
    assert names(0, 15.0, 9) == ["from the start"]
    assert [each.name for each in made.in_force(0, 0.0, 0, None)] == ["from the start"]
    counted = plan(entry("it", type="drop", duration=2, since_rounds=(0, 4, 0)), rules=ROUNDS)
    for submitted, there in ((4, True), (5, True), (6, False)):
        assert bool(counted.in_force(1, 0.0, submitted, None)) == there


def test_a_fault_is_written_once_for_all_versions_of_a_plan() -> None:
    """A long trace must not hold up delivery whenever something else changes."""
    made = plan(entry("long", type="latency", trace=["1s"] * 1000))
    first = steps(lambda: plan_to_json(made, int))
    changed = dataclasses.replace(made, version=2)
    assert steps(lambda: plan_to_json(changed, int)) < first / 10
    assert plan_from_json(plan_to_json(changed, int), WALL, float).entries == made.entries


def test_what_begins_or_ends_touches_the_links_whose_pending_feedback_it_acts_on() -> None:
    made = plan(
        entry("a", **SECOND, at="10s", duration="5s"),  # new feedback alone
        entry("b", 1, **SECOND, at="20s", duration="5s", apply_to="pending"),
        entry("c", type="blackout", at="30s"),
    )

    def touched(before: float, now: float, start: float | None = START) -> list[int]:
        return made.touched(START + before, START + now, start)

    assert [touched(9, 16), touched(19, 20), touched(20, 24), touched(20, 25)] == [[], [1], [], [1]]
    assert [touched(25, 29), touched(29, 30), touched(19, 30)] == [[], [0, 1, 2], [0, 1, 2]]
    assert touched(0, 99, None) == []
    assert plan(disabled=(1,)).touched(0, 1e9, START) == []
