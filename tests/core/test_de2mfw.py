"""An agent among others: any order of messages, feedback used once, nothing overwritten, frames checked."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.core.agent import ALGORITHMS
from edgefw.core.messages import Feedback, Frame, Play, observe
from edgefw.errors import FrameError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from edgefw.core.algorithm import Agent

NETWORKED = ("de2mfw", "distributed-dgd")


class Around:
    """An agent with something between it and its driver; it passes everything on."""

    def __init__(self, agent: Agent) -> None:
        self.inner = agent
        self.agent, self.neighbours = agent.agent, agent.neighbours
        self.applied = 0

    def start_sweep(self, t: int, arrivals: Sequence[Feedback]) -> Frame:
        return self.inner.start_sweep(t, arrivals)

    def advance(self, frames: Mapping[int, Frame]) -> Frame | Play:
        return self.inner.advance(frames)


class Shuffled(Around):
    """An agent to whom frames and feedback come in any order."""

    def __init__(self, agent: Agent, seed: int) -> None:
        super().__init__(agent)
        self.random = random.Random(seed)

    def start_sweep(self, t: int, arrivals: Sequence[Feedback]) -> Frame:
        return self.inner.start_sweep(t, self.random.sample(list(arrivals), len(arrivals)))

    def advance(self, frames: Mapping[int, Frame]) -> Frame | Play:
        return self.inner.advance(dict(self.random.sample(list(frames.items()), len(frames))))


class Watched(Around):
    """An agent of whose frames, plays and feedback a copy is kept."""

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent)
        self.kept: list[tuple[np.ndarray[Any, Any], bytes]] = []

    def start_sweep(self, t: int, arrivals: Sequence[Feedback]) -> Frame:
        for feedback in arrivals:
            self._keep(feedback.features, feedback.residuals)
        return self._frame(super().start_sweep(t, arrivals))

    def advance(self, frames: Mapping[int, Frame]) -> Frame | Play:
        answer = super().advance(frames)
        if isinstance(answer, Frame):
            return self._frame(answer)
        self._keep(answer.point, *answer.queries)
        return answer

    def _frame(self, frame: Frame) -> Frame:
        self._keep(frame.iterate, *([] if frame.tracker is None else [frame.tracker]))
        return frame

    def _keep(self, *arrays: np.ndarray[Any, Any]) -> None:
        self.kept += [(array, array.tobytes()) for array in arrays]


@settings(deadline=None, max_examples=30)
@given(st.data(), st.sampled_from(NETWORKED), st.sampled_from(["float32", "float64"]), st.integers(0, 99))
def test_plays_are_the_same_bits_whatever_came_first(
    data: st.DataObject, name: str, precision: str, seed: int
) -> None:
    setup = data.draw(tiny.networks(precision=precision, name=name))
    shuffled = [Shuffled(agent, seed) for agent in setup.agents()]
    assert np.array_equal(tiny.points(setup), tiny.points(setup, shuffled))


@pytest.mark.parametrize("name", ["de2mfw", "distributed-dgd", "delmfw", "dofw", "dgd"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_the_order_of_many_that_come_together_leaves_no_trace(name: str, precision: str) -> None:
    """Two numbers add up to the same in any order, three need not; and OGD hides none of their bits."""
    setup = tiny.setup(
        agents=6 if ALGORITHMS[name].distributed else 1,
        network={"topology": "complete"},
        precision=precision,
        problem={"set": "l2_ball"},
        algorithm={"name": name, "oracle": "ogd"},
        delays=tiny.DELAYS["bursts"],
    )
    expected = tiny.points(setup)
    for seed in range(3):
        shuffled = [Shuffled(agent, seed) for agent in setup.agents()]
        assert np.array_equal(tiny.points(setup, shuffled), expected)


@settings(deadline=None, max_examples=30)
@given(st.data(), st.sampled_from(NETWORKED))
def test_a_feedback_is_used_once_if_it_comes_in_time_and_else_never(data: st.DataObject, name: str) -> None:
    setup = data.draw(tiny.networks(name=name))
    used: Counter[tuple[str, int, int]] = Counter()

    class Counted(Feedback):
        __slots__ = ("agent",)
        agent: int

        def gradient(self, q: int) -> Any:
            used[f"gradient {q}", self.agent, self.round] += 1
            return super().gradient(q)

        def difference(self, q: int) -> Any:
            used[f"difference {q}", self.agent, self.round] += 1
            return super().difference(q)

    def counted(agent: int, feedback: Feedback) -> Feedback:
        copy = Counted(feedback.round, feedback.features, feedback.residuals)
        object.__setattr__(copy, "agent", agent)
        return copy

    agents = setup.agents()
    list(tiny.plays(setup, agents, sweeps=setup.rounds + 1, seen=counted))
    differences = [f"difference {k}" for k in range(1, len(setup.steps))] if name == "de2mfw" else []
    in_time = [
        (i, s)
        for i, row in enumerate(setup.delays)
        for s, delay in enumerate(row, start=1)
        if s + delay - 1 <= setup.rounds
    ]
    assert used == Counter({(what, i, s): 1 for what in ["gradient 0", *differences] for i, s in in_time})
    came = setup.delays + np.arange(setup.rounds) <= setup.rounds
    assert [agent.applied for agent in agents] == came.sum(axis=1).tolist()


@pytest.mark.parametrize("oracle", ["ftpl", "ogd"])
@pytest.mark.parametrize("name", NETWORKED)
def test_frames_plays_and_feedback_are_never_written_to(name: str, oracle: str) -> None:
    setup = tiny.setup(algorithm={"name": name, "oracle": oracle}, delays=tiny.DELAYS["uniform"])
    agents = [Watched(agent) for agent in setup.agents()]
    list(tiny.plays(setup, agents))
    assert sum(len(agent.kept) for agent in agents) > setup.rounds * setup.n
    assert all(array.tobytes() == before for agent in agents for array, before in agent.kept)


def test_nothing_arrived_is_sent_as_no_tracker_and_a_neighbours_tracker_is_passed_on() -> None:
    """On a line 0-1-2 with news at agent 0 alone, it takes the trackers an exchange a hop."""
    setup = tiny.setup(agents=3, network={"topology": "line"}, rounds=16)
    feedback = observe(setup.loss, next(tiny.plays(setup))[0], *setup.batch(0, 1))[1]
    agents = setup.agents()
    frames = {0: agents[0].start_sweep(2, [feedback])} | {i: agents[i].start_sweep(2, []) for i in (1, 2)}
    seen = []
    for _ in range(3):
        seen.append([frames[i].tracker is not None for i in range(3)])
        frames = {i: _frame(a.advance({j: frames[j] for j in a.neighbours})) for i, a in enumerate(agents)}
    assert seen == [[True, False, False], [True, True, False], [True, True, True]]


def _frame(answer: Frame | Play) -> Frame:
    assert isinstance(answer, Frame)
    return answer


@pytest.mark.parametrize("name", NETWORKED)
def test_frames_that_do_not_belong_are_refused(name: str) -> None:
    agents = tiny.setup(agents=3, algorithm={"name": name}, network={"topology": "line"}).agents()
    middle = agents[1]
    frames = {i: agents[i].start_sweep(1, []) for i in (0, 2)}
    with pytest.raises(FrameError, match=r"agent 1 got frames between two sweeps: call start_sweep first"):
        middle.advance(frames)
    middle.start_sweep(1, [])
    with pytest.raises(FrameError, match=r"agent 1 needs one frame from each of \[0, 2\], got \[0\]"):
        middle.advance({0: frames[0]})
    with pytest.raises(FrameError, match=r"agent 1 needs one frame .*, got \[0, 1, 2\]"):
        middle.advance({**frames, 1: frames[0]})
    late = replace(frames[2], t=2)
    with pytest.raises(FrameError, match=r"agent 1 expected \(t, k\) = \(1, 1\) from agent 2, got \(2, 1\)"):
        middle.advance({0: frames[0], 2: late})
    early = replace(frames[0], k=2)
    with pytest.raises(FrameError, match=r"expected \(t, k\) = \(1, 1\) from agent 0, got \(1, 2\)"):
        middle.advance({0: early, 2: frames[2]})
    assert isinstance(middle.advance(frames), Frame if name == "de2mfw" else Play)  # unharmed by all that


@pytest.mark.parametrize("name", NETWORKED)
def test_after_the_play_a_sweep_is_over(name: str) -> None:
    agent = tiny.setup(agents=1, algorithm={"name": name}).agents()[0]
    agent.start_sweep(1, [])
    while not isinstance(agent.advance({}), Play):
        pass
    with pytest.raises(FrameError, match="between two sweeps"):
        agent.advance({})
