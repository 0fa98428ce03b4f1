"""A link that is good or bad for a while. What every type has to pass is in `test_every_type`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from delay_plans import fault, plan_of, rules
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.delays import gilbert_elliott
from edgefw.delays.draws import Draws
from edgefw.delays.fault import Seen
from edgefw.delays.gilbert_elliott import GilbertElliott

CHANCES = st.sampled_from([0.0, 0.003, 0.1, 0.5, 0.7, 0.97, 1.0])


def link(p: float, r: float, **fields: Any) -> GilbertElliott:
    made = fault("gilbert_elliott", **{"good": 1, "bad": 9, "p": p, "r": r, **fields})
    assert isinstance(made, GilbertElliott)
    return made


def states(made: GilbertElliott, rounds: Any, salt: int = 0) -> list[bool]:
    stream = Draws(7, (3,), salt)
    found: list[bool] = made.is_bad(Seen(rounds, np.zeros(len(rounds)), None, stream)).tolist()
    return found


def chain(p: float, r: float, last: int, salt: int) -> list[bool]:
    """Return the states of rounds 1 to `last`, each from the one before it."""
    u = Draws(7, (3,), salt).amounts(range(last + 1))
    bad, found = bool(u[0] * (p + r) < p), []
    for each in u[1:]:
        bad = bool(each < (1 - r if bad else p))
        found.append(bad)
    return found


@settings(deadline=None, max_examples=150)
@given(CHANCES, CHANCES, st.integers(0, 20), st.lists(st.integers(1, 400), max_size=8))
def test_any_rounds_in_any_order_have_the_states_of_the_chain(
    p: float, r: float, salt: int, rounds: list[int]
) -> None:
    whole = chain(p, r, 400, salt)
    assert states(link(p, r), range(1, 401), salt) == whole
    assert states(link(p, r), np.array(rounds, dtype=np.int64), salt) == [whole[s - 1] for s in rounds]
    assert [states(link(p, r), range(s, s + 1), salt)[0] for s in rounds] == [whole[s - 1] for s in rounds]


def test_it_looks_as_far_back_as_it_has_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gilbert_elliott, "LOOK_BACK", (2, 16))
    for p, r in ((0.004, 0.002), (0.999, 0.997), (0.0, 0.0), (1.0, 1.0)):
        whole = chain(p, r, 1500, 2)
        assert [states(link(p, r), range(s, s + 1), 2)[0] for s in range(1, 1501, 7)] == whole[::7]


@pytest.mark.parametrize(("p", "r"), [(0.02, 0.2), (0.3, 0.1), (0.9, 0.8)])
def test_it_is_bad_for_its_share_of_the_time_and_as_long_as_it_says(p: float, r: float) -> None:
    bad = np.array(states(link(p, r), range(1, 200_001)))
    assert bad.mean() == pytest.approx(p / (p + r), rel=0.05)
    begins = np.flatnonzero(bad[1:] & ~bad[:-1])
    assert bad.sum() / len(begins) == pytest.approx(1 / r, rel=0.05)
    assert (~bad).sum() / len(begins) == pytest.approx(1 / p, rel=0.05)


def test_it_begins_as_it_goes_on() -> None:
    first = [states(link(0.1, 0.3), range(1, 2), salt)[0] for salt in range(2000)]
    assert np.mean(first) == pytest.approx(0.25, abs=0.03)


def test_chances_of_none_and_of_one() -> None:
    every = range(1, 50)
    assert not any(states(link(0, 0), every))
    assert not any(states(link(0, 0.5), range(100, 150)))
    assert not any(states(link(0, 1), every))
    assert all(states(link(1, 0), every))
    turning = np.array(states(link(1, 1), every))
    assert (turning[1:] != turning[:-1]).all()


def test_a_message_has_the_delay_of_the_state_in_its_round() -> None:
    for made, given_rules, levels in (
        (link(0.3, 0.3), rules(rounds=200), (1, 9)),
        (link(0.3, 0.3, good="100ms", bad="2s"), rules(rounds=200, pace=0.25), (1, 9)),
    ):
        plan = plan_of(given_rules, made, salts=(5,))
        stream = Draws(0, (0,), 5)
        bad = made.is_bad(Seen(range(1, 201), np.zeros(200), None, stream))
        assert plan.table()[0].tolist() == np.where(bad, levels[1], levels[0]).tolist()
        assert plan.declared(0) == 9
    assert plan_of(rules(rounds=200), link(0.3, 0.3)).longest() == 9


def test_links_and_runs_differ() -> None:
    tables = [plan_of(rules(agents=2, rounds=200, seed=seed), link(0.3, 0.3)).table() for seed in (1, 2)]
    assert len({tuple(row) for table in tables for row in table.tolist()}) == 4
