"""Edits of a delay plan."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import pytest
from admin_stand_in import AGENTS, fault_view, moment, rules
from delay_plans import fault
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.delays import edits
from edgefw.delays.body import read_fault
from edgefw.delays.entry import PlanEntry
from edgefw.delays.plan import MOST_FAULTS, Plan
from edgefw.errors import EdgefwError, ExistsError, InputError, UnknownError

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgefw.delays.body import Posted

EMPTY = Plan(rules(), 1, ())
SLOW = {"type": "latency", "attributes": {"latency": "1s", "jitter": "200ms"}}


def posted(body: Any, clock: str = "wall") -> Posted:
    return read_fault(body, rules(clock))


def added(
    plan: Plan, body: Any, agent: int | None = None, name: str | None = None, now: float = 100.0
) -> Plan:
    return edits.add(plan, moment(now), agent, posted(body, plan.rules.clock).fault, name)


def keys(plan: Plan) -> list[tuple[int | None, str]]:
    return [entry.key for entry in plan.entries]


def test_a_fault_gets_its_types_name_then_a_number() -> None:
    plan = added(added(added(EMPTY, SLOW), SLOW), SLOW, agent=3)
    assert keys(plan) == [(None, "latency"), (None, "latency-2"), (3, "latency")]
    assert plan.version == 4


def test_a_posted_fault_counts_from_now_one_with_at_from_the_runs_start() -> None:
    now, later = added(added(EMPTY, SLOW), {**SLOW, "at": "60s"}).entries
    assert (now.since, later.since) == (100.0, None)
    late = {"type": "rounds", "rounds": 3}
    now, later = added(added(Plan(rules("rounds"), 1, ()), late), {**late, "at": 60}).entries
    assert (now.since_rounds, later.since_rounds) == ((5,) * AGENTS, None)


def test_draws_are_told_apart_by_name_or_by_a_seed() -> None:
    seeded = {**SLOW, "attributes": {**SLOW["attributes"], "seed": 4}}  # type: ignore[dict-item]
    plan = added(added(EMPTY, SLOW, name="a"), seeded, name="b")
    assert [entry.salt for entry in plan.entries] == [2 * (2**53 + zlib.crc32(b"a")) + 1, 8]
    kept = edits.change(plan, moment(), None, "a", {"attributes": {"latency": "5s"}})
    assert kept.entries[0].salt == plan.entries[0].salt
    fresh = edits.change(plan, moment(), None, "a", {"attributes": {"seed": 9}})
    assert fresh.entries[0].salt == 18


def test_a_scenarios_fault_keeps_its_draws_when_it_is_changed_or_replaced() -> None:
    plan = Plan(rules(), 1, (PlanEntry(None, "delays-0", posted(SLOW).fault, salt=1),))
    changed = edits.change(plan, moment(), None, "delays-0", {"latency": "5s"})
    assert (changed.entries[0].salt, changed.entries[0].since) == (1, None)
    replaced = edits.replace(
        plan, moment(), [posted({"type": "latency", "latency": "9s", "name": "delays-0"})]
    )
    assert (replaced.entries[0].salt, replaced.entries[0].since) == (1, 100.0)


def test_a_patch_is_merged_and_null_removes() -> None:
    plan = added(EMPTY, {**SLOW, "duration": "30s"}, name="a")
    patch = {"attributes": {"jitter": None, "latency": "2s"}, "probability": 0.5, "duration": None}
    changed = edits.change(plan, moment(), None, "a", patch)
    shown = fault_view(changed.entries[0])
    assert (shown["attributes"], shown["probability"], "duration" in shown) == ({"latency": "2s"}, 0.5, False)
    assert edits.change(plan, moment(), None, "a", {"latency": "2s"}) == edits.change(
        plan, moment(), None, "a", {"attributes": {"latency": "2s"}}
    )


def test_a_duration_that_is_given_counts_from_then_any_other_goes_on() -> None:
    plan = added(EMPTY, {**SLOW, "duration": "30s"}, name="a")

    def since(patch: Any) -> float | None:
        return edits.change(plan, moment(120.0), None, "a", patch).entries[0].since

    assert since({"latency": "2s"}) == 100.0
    assert since({"duration": "40s"}) == 120.0
    assert since({"duration": "30s"}) == 120.0
    assert since({"duration": "30 rounds"}) == 120.0  # rounds: not the same, though 30 == 30.0
    assert since({"duration": None}) == 100.0
    assert since({"at": "60s"}) is None
    timed = edits.change(plan, moment(), None, "a", {"at": "60s"})
    assert edits.change(timed, moment(120.0), None, "a", {"at": None}).entries[0].since == 120.0
    assert edits.change(timed, moment(120.0), None, "a", {"duration": "40s"}).entries[0].since is None


def test_a_patch_that_changes_nothing_makes_no_version() -> None:
    plan = added(EMPTY, {**SLOW, "duration": "30s"}, name="a")
    for patch in (
        {},
        {"latency": "1s"},
        {"attributes": {"latency": "1000ms", "trace": None}},
        {"type": "latency"},
    ):
        assert edits.change(plan, moment(200.0), None, "a", patch) is plan


@pytest.mark.parametrize(
    ("patch", "field"),
    [
        ({"name": "b"}, "name"),
        ({"agents": [3]}, "agents"),
        ({"attributes": {"latency": None}}, "attributes.jitter"),
        ({"type": "drop"}, "attributes.latency"),
        ({"type": None}, "type"),
        ({"attributes": None}, "latency"),
        ({"attributes": 3}, "attributes"),
        ({"unknown": 3}, "unknown"),
        ({"unknown": None}, "unknown"),
        ({"attributes": {"unknown": None}}, "attributes.unknown"),
        ({"attributes": {}, "unknown": None}, "unknown"),
        ([], ""),
    ],
)
def test_a_patch_whose_result_is_no_fault_is_refused(patch: Any, field: str) -> None:
    plan = added(EMPTY, SLOW, name="a")
    with pytest.raises(InputError) as caught:
        edits.change(plan, moment(), None, "a", patch)
    assert caught.value.field == field


def test_a_type_may_be_changed_if_what_belongs_to_it_goes() -> None:
    plan = added(EMPTY, SLOW, name="a")
    assert (
        edits.change(plan, moment(), None, "a", {"type": "drop", "attributes": None}).entries[0].fault.type
        == "drop"
    )


def test_what_is_not_there_is_unknown_and_what_is_there_exists() -> None:
    plan = added(EMPTY, SLOW, agent=3, name="a")
    missing: list[Callable[[], Plan]] = [
        lambda: edits.remove(plan, None, "a"),
        lambda: edits.remove(plan, 2, "a"),
        lambda: edits.remove(plan, 8, "a"),
        lambda: edits.change(plan, moment(), 3, "b", {}),
        lambda: edits.enable(plan, 8, enabled=False),
        lambda: edits.enable(plan, -1, enabled=False),
        lambda: added(plan, SLOW, agent=8),
    ]
    for edit in missing:
        with pytest.raises(UnknownError):
            edit()
    with pytest.raises(ExistsError, match="'a' already"):
        added(plan, SLOW, agent=3, name="a")


def test_a_plan_has_a_limit() -> None:
    drop = posted({"type": "drop"}).fault
    entries = tuple(PlanEntry(None, f"x{i}", drop, 0) for i in range(MOST_FAULTS))
    full = Plan(rules(), 1, entries)
    with pytest.raises(ExistsError, match="1000 faults"):
        added(full, {"type": "drop"})
    many = [posted({"type": "drop", "name": f"x{i}", "agents": list(range(AGENTS))}) for i in range(126)]
    assert len(edits.replace(EMPTY, moment(), many[:125]).entries) == 1000
    with pytest.raises(InputError, match="1008") as caught:
        edits.replace(EMPTY, moment(), many)
    assert caught.value.field == "faults"


def test_replacing_keeps_what_is_the_same_and_names_the_rest() -> None:
    plan = added(added(EMPTY, SLOW, name="a"), SLOW, agent=3, name="b")
    bodies = [{"type": "drop", "agents": [3, 1]}, {"type": "drop"}, {"type": "drop"}, {**SLOW, "name": "a"}]
    new = edits.replace(plan, moment(200.0), [posted(body) for body in bodies])
    assert keys(new) == [(3, "drop"), (1, "drop"), (None, "drop"), (None, "drop-2"), (None, "a")]
    assert new.entries[-1] is plan.entries[0]
    assert [entry.since for entry in new.entries] == [200.0] * 4 + [100.0]
    assert new.version == plan.version + 1


def test_replacing_by_what_is_there_leaves_it_alone_whatever_was_worked_out_from_it() -> None:
    plan = Plan(rules(), 1, (PlanEntry(None, "a", fault("latency", latency="1s", jitter="1s"), salt=1),))
    again = posted({"type": "latency", "latency": "1s", "jitter": "1s", "name": "a"})
    assert edits.replace(plan, moment(), [again]) is plan
    plan.own(0, 100.0)[0].added(1)
    assert edits.replace(plan, moment(), [again]) is plan


def test_replacing_by_two_of_one_name_on_a_link_is_refused() -> None:
    same = [posted({"type": "drop", "name": "a", "agents": agents}) for agents in ([1, 2], [3], [2])]
    assert len(edits.replace(EMPTY, moment(), same[:2]).entries) == 3
    with pytest.raises(InputError) as caught:
        edits.replace(EMPTY, moment(), same)
    assert caught.value.field == "faults.2.name"


def test_a_reset_removes_faults_and_leaves_links_disabled() -> None:
    plan = edits.enable(added(EMPTY, SLOW), 3, enabled=False)
    assert edits.reset(plan).entries == ()
    assert edits.reset(plan).disabled == {3}
    assert edits.reset(EMPTY) is EMPTY
    assert edits.replace(plan, moment(), []).disabled == {3}
    assert edits.replace(plan, moment(), [], [1]).disabled == {1}


def test_without_takes_out_only_what_is_still_as_it_was() -> None:
    plan = added(added(EMPTY, SLOW, name="a"), SLOW, name="b")
    changed = edits.change(plan, moment(), None, "a", {"latency": "9s"})
    assert keys(edits.without(changed, plan.entries)) == [(None, "a")]
    assert edits.without(changed, plan.entries[:1]) is changed


BODIES = st.sampled_from(
    [
        SLOW,
        {"type": "latency", "latency": "1s", "duration": "5s"},
        {"type": "latency", "trace": ["1s", "2s"], "at": 5},
        {"type": "blackout", "duration": "10s"},
        {"type": "drop", "probability": 0.5, "apply_to": "pending"},
        {"type": "adversary", "strategy": "largest", "period": "2s", "share": 0.5},
    ]
)
PATCHES = st.sampled_from(
    [
        {},
        {"latency": "2s"},
        {"duration": "5s"},
        {"duration": None},
        {"at": "9s"},
        {"type": None},
        {"probability": 0.1},
    ]
)
WHOSE, NAMES = st.sampled_from([None, 0, 3, 8]), st.sampled_from(["a", "b", "latency", "latency-2"])
EDITS = st.one_of(
    st.tuples(st.just("add"), WHOSE, BODIES, st.none() | NAMES),
    st.tuples(st.just("change"), WHOSE, NAMES, PATCHES),
    st.tuples(st.just("remove"), WHOSE, NAMES),
    st.tuples(st.just("replace"), st.lists(BODIES, max_size=3), st.none() | st.just([1])),
    st.tuples(st.just("reset")),
    st.tuples(st.just("enable"), st.sampled_from([0, 3, 8]), st.booleans()),
)


def edited(plan: Plan, edit: tuple[Any, ...], now: float) -> Plan:
    match edit:
        case "add", agent, body, name:
            return edits.add(plan, moment(now), agent, posted(body).fault, name)
        case "change", agent, name, patch:
            return edits.change(plan, moment(now), agent, name, patch)
        case "remove", agent, name:
            return edits.remove(plan, agent, name)
        case "replace", bodies, disabled:
            return edits.replace(plan, moment(now), [posted(body) for body in bodies], disabled)
        case "enable", agent, enabled:
            return edits.enable(plan, agent, enabled=enabled)
        case _:
            return edits.reset(plan)


@given(st.lists(EDITS, max_size=12))
@settings(deadline=None, max_examples=100)
def test_versions_count_changes_and_errors_leave_no_trace(sequence: list[tuple[Any, ...]]) -> None:
    plan = EMPTY
    for step, edit in enumerate(sequence):
        before = (plan.version, plan.entries, plan.disabled, [fault_view(entry) for entry in plan.entries])
        try:
            new = edited(plan, edit, 100.0 + step)
        except EdgefwError:
            new = plan
        assert before == (plan.version, plan.entries, plan.disabled, [fault_view(e) for e in plan.entries])
        if new is not plan:
            assert new.version == plan.version + 1
            assert (new.entries, new.disabled) != (plan.entries, plan.disabled)
        assert len(set(keys(new))) == len(new.entries)
        plan = new
        again = [read_fault(fault_view(entry), plan.rules) for entry in plan.entries]
        assert edits.replace(plan, moment(999.0), again, plan.disabled) is plan
