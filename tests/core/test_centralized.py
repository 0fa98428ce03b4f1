"""The learners of the centralized setting: against each other, and DOFW against its own definition."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.core.agent import make_agent
from edgefw.core.messages import observe
from edgefw.delays.book import ArrivalBook
from edgefw.errors import FrameError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgefw.core.algorithm import Alone
    from edgefw.core.bold import BoldMfw
    from edgefw.scenario.setup import Setup

    Points = NDArray[np.floating[Any]]

CLOSE = 1e-10
ROUNDS = 12


def alone(name: str, delays: NDArray[np.int64] | None = None, **options: Any) -> Setup:
    """Return a lone learner's setup; `delays` is (rounds,)."""
    problem = {key: value for key, value in options.items() if key in {"set", "loss"}}
    algorithm = {key: value for key, value in options.items() if key not in problem}
    setup = tiny.setup(agents=1, rounds=ROUNDS, problem=problem, algorithm={"name": name, **algorithm})
    return setup if delays is None else replace(setup, delays=delays[None])


def played(setup: Setup) -> Points:
    """Return the plays of a lone learner, (rounds, C, m)."""
    return tiny.points(setup)[:, 0]


@pytest.mark.parametrize("noise", ["fixed", "fresh"])
@pytest.mark.parametrize("oracle", ["ftpl", "ogd"])
@pytest.mark.parametrize("loss", ["multinomial", "squared", "binary_logistic"])
def test_without_delay_delmfw_mfw_and_bold_mfw_are_one(noise: str, oracle: str, loss: str) -> None:
    options: dict[str, Any] = {"noise": noise, "oracle": oracle, "loss": loss}
    expected = played(alone("mfw", **options))
    for name in ("delmfw", "bold-mfw", "de2mfw"):
        np.testing.assert_allclose(played(alone(name, **options)), expected, rtol=0, atol=CLOSE)
    assert np.abs(np.diff(expected, axis=0)).max() > 0.1


@settings(deadline=None, max_examples=40)
@given(tiny.delay_tables(1, ROUNDS), st.sampled_from(["fixed", "fresh"]), st.sampled_from(["ftpl", "ogd"]))
def test_de2mfw_of_one_agent_is_delmfw(delays: NDArray[np.int64], noise: str, oracle: str) -> None:
    one, other = (played(alone(name, delays[0], noise=noise, oracle=oracle)) for name in ("de2mfw", "delmfw"))
    np.testing.assert_allclose(one, other, rtol=0, atol=CLOSE)


def test_mfw_refuses_feedback_that_is_late_or_missing() -> None:
    delays = np.ones(ROUNDS, dtype=np.int64)
    delays[4] = 2
    with pytest.raises(FrameError, match="MFW needs the feedback of round 5 at once: use delmfw or bold-mfw"):
        played(alone("mfw", delays))


def reference(
    setup: Setup, first: Points, update: Callable[[Points, list[Points]], Points]
) -> NDArray[np.float64]:
    """Return the plays of x <- update(x, gradients at plays that arrived, by round), (rounds, C, m)."""
    book, x, plays = ArrivalBook(setup.delays), first, []
    for t in range(1, setup.rounds + 1):
        plays.append(x)
        x = update(x, [_gradient(setup, plays[s - 1], s) for s in book.at(t).get(0, ())])
    return np.stack(plays)


def _gradient(setup: Setup, x: Points, s: int) -> Points:
    features, labels = setup.batch(0, s)
    return np.asarray(setup.loss.residual(x @ features.T, labels) @ features)


class DofwByHand:
    """Minimise Phi(x) = eta <G, x> + |x - x_1|^2 a little at each arrival: towards one vertex, best share."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.first = np.full(setup.feasible.shape, setup.feasible.radius / setup.feasible.size)
        self.gradients = np.zeros_like(self.first)

    def phi(self, x: Points) -> float:
        return float(self.setup.zeta * np.sum(self.gradients * x) + np.sum((x - self.first) ** 2))

    def __call__(self, x: Points, arrived: list[Points]) -> Points:
        for gradient in arrived:
            self.gradients = self.gradients + gradient
            v = self.setup.feasible.lmo(self.setup.zeta * self.gradients + 2 * (x - self.first))
            if np.allclose(v, x, rtol=0, atol=1e-12):
                continue
            bend, slope, _ = np.polyfit([0, 0.5, 1], [self.phi(x + s * (v - x)) for s in (0, 0.5, 1)], 2)
            x = x + min(1.0, max(0.0, -slope / (2 * bend))) * (v - x)
        return x


@settings(deadline=None, max_examples=25)
@given(tiny.delay_tables(1, ROUNDS), st.sampled_from(["l1_per_class", "l2_ball", "simplex", "nuclear_ball"]))
def test_dofw_is_its_definition(delays: NDArray[np.int64], feasible: str) -> None:
    setup = alone("dofw", delays[0], set=feasible, rate=0.3)
    by_hand = DofwByHand(setup)
    np.testing.assert_allclose(played(setup), reference(setup, by_hand.first, by_hand), rtol=0, atol=1e-7)


def test_without_delay_dofw_is_ofw() -> None:
    ofw = alone("ofw", rate=0.3)
    by_hand = DofwByHand(ofw)
    np.testing.assert_allclose(played(ofw), reference(ofw, by_hand.first, by_hand), rtol=0, atol=1e-7)
    assert np.array_equal(played(ofw), played(alone("dofw", rate=0.3)))
    assert np.abs(np.diff(played(ofw), axis=0)).max() > 0.1


def test_dofw_stays_where_the_vertex_is_the_point_itself() -> None:
    """A simplex of one point: v = x, and sigma would be 0/0."""
    data = tiny.dataset(features=1)
    setup = tiny.setup(
        agents=1, problem={"set": "simplex", "loss": "squared"}, algorithm={"name": "dofw"}, data=data
    )
    assert np.array_equal(played(setup), np.full((setup.rounds, 1, 1), setup.feasible.radius))


@settings(deadline=None, max_examples=25)
@given(tiny.delay_tables(1, ROUNDS), st.sampled_from(["l1_per_class", "box"]))
def test_dgd_is_its_definition(delays: NDArray[np.int64], feasible: str) -> None:
    setup = alone("dgd", delays[0], set=feasible)

    def step(x: Points, arrived: list[Points]) -> Points:
        return setup.feasible.project(x - setup.zeta * sum(arrived)) if arrived else x

    expected = reference(setup, setup.feasible.start(), step)
    np.testing.assert_allclose(played(setup), expected, rtol=0, atol=CLOSE)


@settings(deadline=None, max_examples=20)
@given(tiny.delay_tables(1, ROUNDS))
def test_bold_mfw_has_as_many_copies_as_ever_wait_and_each_is_mfw_on_its_rounds(
    delays: NDArray[np.int64],
) -> None:
    setup = alone("bold-mfw", delays[0], noise="fixed")
    agent = cast("Alone", setup.agents()[0])
    plays = [each[0] for each in tiny.plays(setup, [agent])]
    owner = _owners(setup)
    copies = len(cast("BoldMfw", agent.learner).copies)
    assert copies == max(owner) + 1
    for copy in range(copies):
        spec = replace(setup.agent_spec(0), algorithm="mfw", agent=copy)  # copy c has the noise of agent c
        twin = cast("Alone", make_agent(spec)).learner
        for s in [s for s, by in enumerate(owner, start=1) if by == copy]:
            np.testing.assert_allclose(plays[s - 1].point, twin.play(s).point, rtol=0, atol=CLOSE)
            twin.update(s, [observe(setup.loss, plays[s - 1], *setup.batch(0, s))[1]])


def _owners(setup: Setup) -> list[int]:
    """Return who plays each round: the lowest copy all of whose rounds were answered in an earlier round."""
    owners: list[int] = []
    free_from: list[int] = []  # of each copy, the first round in which it waits for nothing
    for t, delay in enumerate(setup.delays[0].tolist(), start=1):
        idle = [copy for copy, free in enumerate(free_from) if free <= t]
        copy = idle[0] if idle else len(free_from)
        if not idle:
            free_from.append(0)
        free_from[copy] = t + delay
        owners.append(copy)
    return owners
