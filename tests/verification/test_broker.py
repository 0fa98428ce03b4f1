"""The broker's account put through its hold again: what a kill leaves is no forgery."""

from __future__ import annotations

import playback
import pytest

from edgefw.core.account import Entry, Kind
from edgefw.delays.plan import plan_to_json
from edgefw.errors import RecordError
from edgefw.scenario.plan import scenario_plan
from edgefw.verification.broker import SECOND, BrokerAgain

SCENARIO = playback.scenario(clock="wall", pace="60ms", delays=[])
PLAN = plan_to_json(scenario_plan(SCENARIO), lambda moment: int(moment * SECOND))


def begun(moment: int) -> list[Entry]:
    return [Entry(moment, Kind.BEGUN, version=1), Entry(moment + 1, Kind.PLAN, version=1, plan=PLAN)]


def accepted(moment: int, s: int) -> Entry:
    return Entry(moment, Kind.ACCEPTED, 0, s, version=1, due=moment, norm=1.0)


def released(moment: int, s: int, due: int) -> Entry:
    return Entry(moment, Kind.RELEASED, 0, s, version=1, due=due)


def check(account: list[Entry]) -> None:
    BrokerAgain(SCENARIO, account).run(account)


FIRST = [*begun(0), accepted(SECOND, 1), released(SECOND + 5000, 1, SECOND)]
NEXT = [accepted(4 * SECOND, 2), released(4 * SECOND + 5000, 2, 4 * SECOND)]


@pytest.mark.parametrize(
    "again",
    [
        [released(3 * SECOND + 5000, 1, 3 * SECOND)],
        [Entry(3 * SECOND + 2000, Kind.ACKNOWLEDGED, 0, 1)],  # the first copy: no second one is needed
    ],
    ids=["released again", "acknowledged before"],
)
def test_what_was_accepted_again_after_a_kill_may_have_been_released_before_it(again: list[Entry]) -> None:
    check([*FIRST, *begun(2 * SECOND), accepted(3 * SECOND, 1), *again, *NEXT])


def test_without_a_kill_it_was_accepted_twice() -> None:
    with pytest.raises(RecordError, match="accepted twice"):
        check([*FIRST, accepted(3 * SECOND, 1), *NEXT])


def test_what_was_due_before_others_has_to_be_released_before_them() -> None:
    with pytest.raises(RecordError, match="due before others that were released"):
        check([*begun(0), accepted(SECOND, 1), *NEXT, Entry(5 * SECOND, Kind.ACKNOWLEDGED, 0, 2)])
