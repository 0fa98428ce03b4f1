"""Reports in order, again, in conflict, ahead; rounds complete in order; delays as the arrivals show them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.delays.book import ArrivalBook, total_delay, unused
from edgefw.errors import WireError
from edgefw.services.observer.ledger import Ledger, Reported, lateness
from edgefw.simulator import arrived

SIZE = 1000


def reported(agent: int, round_: int, **changes: Any) -> Reported:
    fields: dict[str, Any] = {
        "agent": agent,
        "round": round_,
        "point": np.zeros((1, 1), dtype=np.float32),
        "hash": f"{agent}-{round_}",
        "local_loss": 0.0,
        "arrivals": (),
        "outstanding": 1,
        "messages": 7 * round_,
        "wire_bytes": 100 * round_,
    }
    return Reported(**(fields | changes))


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 4), st.integers(1, 6), st.data())
def test_rounds_become_complete_in_order_whoever_comes_first(
    n: int, rounds: int, data: st.DataObject
) -> None:
    order = data.draw(st.permutations([i for i in range(n) for _ in range(rounds)]))
    ledger, next_round, complete = Ledger(n, rounds, SIZE), [1] * n, []
    for i in order:
        assert ledger.take(reported(i, next_round[i]))
        if data.draw(st.booleans()):  # again, as after a broken stream
            assert not ledger.take(reported(i, data.draw(st.integers(1, next_round[i]))))
        next_round[i] += 1
        complete += ledger.ready()
        assert len(complete) == min(next_round) - 1
        if len(complete) < rounds:
            assert ledger.waiting_for() == [j for j in range(n) if next_round[j] == len(complete) + 1]
    assert [[(r.round, r.agent) for r in one] for one in complete] == [
        [(t, i) for i in range(n)] for t in range(1, rounds + 1)
    ]
    assert ledger.waiting_for() == []
    assert (sum(ledger.messages), sum(ledger.wire_bytes)) == (7 * rounds * n, 100 * rounds * n)


@pytest.mark.parametrize(
    ("round_", "reason", "text"),
    [
        (0, "order", "agent 1 reported round 0, expected round 3"),
        (4, "order", "agent 1 reported round 4, expected round 3"),
        (2, "conflict", "agent 1 reported another play of round 2 before: its hash was 1-2, now it is other"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(round_: int, reason: str, text: str) -> None:
    ledger = Ledger(2, 5, SIZE)
    for t in (1, 2):
        ledger.take(reported(1, t))
    with pytest.raises(WireError, match=text) as failure:
        ledger.take(reported(1, round_, hash="other"))
    assert failure.value.reason == reason
    assert ledger.take(reported(1, 3))


def test_no_round_comes_after_the_last() -> None:
    ledger = Ledger(1, 1, SIZE)
    ledger.take(reported(0, 1))
    with pytest.raises(WireError, match="agent 0 reported round 2, expected none after round 1"):
        ledger.take(reported(0, 2))


def test_an_agent_far_ahead_of_the_others_is_held_back() -> None:
    ledger = Ledger(2, 100, 256_000_000)
    for t in range(1, 17):
        ledger.take(reported(0, t))
    with pytest.raises(WireError, match=r"while agents \[1\] have not reported round 1") as failure:
        ledger.take(reported(0, 17))
    assert failure.value.reason == "ahead"
    ledger.take(reported(1, 1))
    ledger.ready()
    assert ledger.take(reported(0, 17))


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 3), st.integers(1, 7), st.data())
def test_delays_are_those_that_the_arrivals_show(n: int, rounds: int, data: st.DataObject) -> None:
    table = data.draw(tiny.delay_tables(n, rounds))
    book, ledger, again = ArrivalBook(table), Ledger(n, rounds, SIZE), Ledger(n, rounds, SIZE)
    rows = []
    for t in range(1, rounds + 1):
        came = arrived(book, t - 1)
        for i in range(n):
            ledger.take(reported(i, t, arrivals=came.get(i, ())))
            rows.append((t, i, f"{i}-{t}", came.get(i, ())))
        ledger.ready()
    assert lateness(ledger.delays()) == (
        total_delay(table).tolist(),
        int(unused(table).sum()),
    )
    again.restore(rows)
    assert again.delays().tolist() == ledger.delays().tolist()
    assert again.complete == rounds
    assert not again.take(reported(0, rounds))


def test_a_run_without_rounds_has_no_delays() -> None:
    assert lateness(Ledger(2, 5, SIZE).delays()) == ([0, 0], 0)
