"""What every algorithm has to pass: a check takes one with its parameters, and a seed for a small network."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgefw.checks.failure import CheckError, require, same_bits
from edgefw.checks.small import DELAYS, plays, setup
from edgefw.core.agent import algorithm
from edgefw.core.algorithm import Savable
from edgefw.core.messages import Frame, Play
from edgefw.problem.feasible import NAMES as SETS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from edgefw.core.algorithm import Agent, State
    from edgefw.core.messages import Feedback
    from edgefw.problem.feasible.base import Real
    from edgefw.scenario.setup import Setup


class Subject(NamedTuple):
    """An algorithm with its parameters."""

    name: str
    params: Mapping[str, Any]

    def setup(self, seed: int, *, feasible: str = "l2_ball", precision: str = "float32") -> Setup:
        """Return a small run: a ring of four (or a lone learner) whose feedback is late, if it may be."""
        record = algorithm(self.name)
        return setup(
            agents=4 if record.distributed else 1,
            seed=seed,
            precision=precision,
            problem={"set": feasible},
            algorithm={"name": self.name, "params": dict(self.params)},
            delays=DELAYS["uniform"] if record.under_delay is None else [],
        )


def plays_are_feasible(subject: Subject, seed: int) -> None:
    """Every play and every query is in the set and in the type asked for, in every set."""
    for feasible in SETS:
        for precision in ("float32", "float64"):
            given = subject.setup(seed, feasible=feasible, precision=precision)
            asked = algorithm(subject.name).queries(len(given.steps))
            for t, played in enumerate(plays(given), start=1):
                for play in played:
                    _check_play(given, play, t, asked)


def it_learns(subject: Subject, seed: int) -> None:
    """Feedback moves its plays."""
    rounds = list(plays(subject.setup(seed)))
    moved = any(not np.array_equal(one.point, rounds[0][0].point) for (one, *_) in rounds[1:])
    require(moved, "the play of agent 0 is the same in every round, whatever feedback came")


def runs_repeat(subject: Subject, seed: int) -> None:
    """Two runs of one seed play the same, bit for bit."""
    given = subject.setup(seed)
    same_bits("two runs", _points(given), _points(given))


def order_of_arrival_does_not_matter(subject: Subject, seed: int) -> None:
    """Feedback that arrives in one round may come in any order."""
    given = subject.setup(seed)
    usual, turned = given.agents(), [_Turned(agent) for agent in given.agents()]
    same_bits("runs in which arrivals come in two orders", _points(given, usual), _points(given, turned))


def what_is_handed_over_is_left_alone(subject: Subject, seed: int) -> None:
    """What it is given is not written to, and what it has given out does not change later."""
    given = subject.setup(seed)
    watched = [_Watched(agent) for agent in given.agents()]

    def sealed(_: int, feedback: Feedback) -> Feedback:
        return replace(feedback, features=_sealed(feedback.features), residuals=_sealed(feedback.residuals))

    try:
        for played in plays(given, watched, seen=sealed):
            for play, agent in zip(played, watched, strict=True):
                agent.keep(play.point, *play.queries)
    except ValueError as error:
        require("read-only" not in str(error), "it writes to a frame or a feedback that it was given")
        raise
    for agent in watched:
        agent.check()


def a_copy_goes_on_the_same(subject: Subject, seed: int) -> None:
    """A snapshot of all agents, taken after any sweep, plays on as they do: nothing is kept elsewhere."""
    given = subject.setup(seed)
    whole = _points(given)
    swapped = _Swapped(given.agents())
    for t, played in enumerate(plays(given, swapped.agents), start=1):
        same_bits(f"plays of round {t} and of a snapshot", [play.point for play in played], whole[t - 1])
        swapped.swap()


def it_goes_on_in_another_process(subject: Subject, seed: int) -> None:
    """What `save` gives and a new one loads, after any sweep, plays on the same: a killed agent comes back."""  # noqa: E501
    if not algorithm(subject.name).savable:
        return
    given = subject.setup(seed)
    whole = _points(given)
    agents: list[Agent] = given.agents()
    for t, played in enumerate(plays(given, agents), start=1):
        points = [play.point for play in played]
        same_bits(f"plays of round {t} and of one that was loaded", points, whole[t - 1])
        agents[:] = [_loaded(new, _written(agent)) for new, agent in zip(given.agents(), agents, strict=True)]


def every_feedback_is_counted(subject: Subject, seed: int) -> None:
    """`applied` counts every feedback that it was given."""
    given = subject.setup(seed)
    agents = given.agents()
    list(plays(given, agents))
    in_time = np.arange(1, given.rounds + 1) + given.delays - 1 < given.rounds  # update T is not run
    found, expected = [agent.applied for agent in agents], in_time.sum(axis=1).tolist()
    require(found == expected, f"applied is {found} for the agents, they were given {expected}")


def frames_are_as_announced(subject: Subject, seed: int) -> None:
    """A sweep has as many exchanges as `exchanges` says; frames are (t, k) in order, of the set's shape."""
    given = subject.setup(seed)
    expected = algorithm(subject.name).exchanges(len(given.steps))
    counted = [_Counted(agent, given) for agent in given.agents()]
    for t, _ in enumerate(plays(given, counted), start=1):
        found = {agent.sent for agent in counted}
        require(found == {expected}, f"round {t} has {found} exchanges, `exchanges` says {expected}")


CHECKS: tuple[Callable[[Subject, int], None], ...] = (
    plays_are_feasible,
    it_learns,
    runs_repeat,
    order_of_arrival_does_not_matter,
    what_is_handed_over_is_left_alone,
    a_copy_goes_on_the_same,
    it_goes_on_in_another_process,
    every_feedback_is_counted,
    frames_are_as_announced,
)


def _check_play(given: Setup, play: Play, t: int, asked: int) -> None:
    name = given.scenario.problem.set
    require(play.t == t, f"a play of round {t} says that it is of round {play.t}")
    require(len(play.queries) == asked, f"round {t} has {len(play.queries)} queries, `queries` says {asked}")
    for point in (play.point, *play.queries):
        require(point.dtype == given.dtype, f"a play is in {point.dtype}, the run in {given.dtype}")
        require(given.feasible.contains(point), f"a play of round {t} is not in the set {name}")


def _points(given: Setup, agents: Sequence[Agent] | None = None) -> NDArray[Any]:
    """Return all plays of a run, (rounds, n, C, m)."""
    return np.stack([[play.point for play in played] for played in plays(given, agents)])


def _written(agent: Agent) -> State:
    """Return the state of an agent as it comes back from a disk."""
    assert isinstance(agent, Savable)  # noqa: S101 - its record says so
    state = agent.save()
    for name, array in state.items():
        kept = type(array) is np.ndarray and array.dtype.kind in "biuf"
        require(kept, f"save gives {name!r} as {type(array).__name__}: it has to be a numpy array of numbers")
    return {name: _sealed(array.copy()) for name, array in state.items()}


def _loaded(agent: Agent, state: State) -> Agent:
    assert isinstance(agent, Savable)  # noqa: S101 - likewise
    agent.load(state)
    return agent


def _sealed(array: Real) -> Real:
    """Return a view that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


class _Around:
    """An agent, looked at from outside."""

    def __init__(self, agent: Agent) -> None:
        self._inner = agent
        self.agent, self.neighbours = agent.agent, agent.neighbours

    @property
    def applied(self) -> int:
        return self._inner.applied

    @applied.setter
    def applied(self, value: int) -> None:
        raise AssertionError(value)  # the agent's alone

    def start_sweep(self, t: int, arrivals: Sequence[Feedback]) -> Frame:
        return self._inner.start_sweep(t, arrivals)

    def advance(self, frames: Mapping[int, Frame]) -> Frame | Play:
        return self._inner.advance(frames)


class _Turned(_Around):
    """Hands over arrivals last first."""

    def start_sweep(self, t: int, arrivals: Sequence[Feedback]) -> Frame:
        return super().start_sweep(t, list(reversed(arrivals)))


class _Watched(_Around):
    """Seals the frames that the agent is given, and remembers what it gave out."""

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent)
        self._given_out: list[tuple[Real, Real]] = []

    def start_sweep(self, t: int, arrivals: Sequence[Feedback]) -> Frame:
        return self._kept(super().start_sweep(t, arrivals))

    def advance(self, frames: Mapping[int, Frame]) -> Frame | Play:
        answer = super().advance({j: self._sealed(frame) for j, frame in frames.items()})
        return self._kept(answer) if isinstance(answer, Frame) else answer

    def keep(self, *arrays: Real) -> None:
        self._given_out += [(array, array.copy()) for array in arrays]

    def check(self) -> None:
        for array, then in self._given_out:
            same_bits(f"what agent {self.agent} gave out, then and later,", array, then)

    def _kept(self, frame: Frame) -> Frame:
        self.keep(frame.iterate, *(() if frame.tracker is None else (frame.tracker,)))
        return frame

    @staticmethod
    def _sealed(frame: Frame) -> Frame:
        tracker = None if frame.tracker is None else _sealed(frame.tracker)
        return replace(frame, iterate=_sealed(frame.iterate), tracker=tracker)


class _Swapped:
    """Agents that are replaced by copies of themselves between two sweeps."""

    def __init__(self, agents: Sequence[Agent]) -> None:
        self.agents: list[Agent] = [_Around(agent) for agent in agents]

    def swap(self) -> None:
        try:
            for place, agent in enumerate(self.agents):
                self.agents[place] = deepcopy(agent)
        except TypeError as error:
            raise CheckError(f"an agent cannot be copied: {error}") from None


class _Counted(_Around):
    """Looks at every frame that the agent sends."""

    def __init__(self, agent: Agent, given: Setup) -> None:
        super().__init__(agent)
        self._setup = given
        self._t = self.sent = 0

    def start_sweep(self, t: int, arrivals: Sequence[Feedback]) -> Frame:
        self._t, self.sent = t, 0
        return self._seen(super().start_sweep(t, arrivals))

    def advance(self, frames: Mapping[int, Frame]) -> Frame | Play:
        answer = super().advance(frames)
        return self._seen(answer) if isinstance(answer, Frame) else answer

    def _seen(self, frame: Frame) -> Frame:
        self.sent += 1
        place, told = (self.agent, self._t, self.sent), (frame.agent, frame.t, frame.k)
        require(told == place, f"a frame says (agent, t, k) = {told}, it is {place}")
        for array in (frame.iterate, frame.tracker):
            if array is not None:
                shape = self._setup.feasible.shape
                require(array.shape == shape, f"a frame has an array of shape {array.shape}, points {shape}")
        return frame
