"""The fast reference: a whole network as arrays, no messages, delays in rounds.

De2MFW is vectorised over agents; every other algorithm runs on its agents of `core` in lockstep.

Why it is quick
---------------
All losses are linear-model losses, so an iterate matters only through its logits on this round's samples.
Mixing and stepping are linear, so the logits of all n iterates on all n b samples are mixed and stepped
instead of the iterates: n C n b numbers where the iterates have n C m. They end as the logits of all plays on
all batches, which are the scores. Only gradients are dense. They are kept class by class, (C, n, m), so that
mixing them is C small matrix products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgefw.core.agent import algorithm
from edgefw.core.lockstep import sweep
from edgefw.core.messages import Feedback, observe
from edgefw.core.oracle import Noise, Vertex, make_noise
from edgefw.core.regret import global_losses
from edgefw.delays.book import ArrivalBook
from edgefw.plugins import found_at
from edgefw.problem.feasible import Atoms, FeasibleSet, densify

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgefw.problem.feasible.base import Real
    from edgefw.problem.loss import Labels
    from edgefw.scenario.setup import Setup

_CACHE = 1_000_000  # bytes that a core can keep at hand: half of a usual second-level cache

Progress = Callable[[int], None]
Arrivals = Mapping[int, Sequence[int]]  # agent -> the rounds whose feedback it gets, both ascending


@dataclass(frozen=True, eq=False)
class Round:
    """What a simulated round has to say: both (n,), in float64."""

    t: int
    local_loss: NDArray[np.float64]  # f_t^i(x_t^i)
    global_loss: NDArray[np.float64]  # F_t(x_t^i)


@dataclass(frozen=True, eq=False)
class Trace:
    """The losses of a run, both (rounds, n)."""

    local_loss: NDArray[np.float64]
    global_loss: NDArray[np.float64]


def simulate(setup: Setup, progress: Progress | None = None) -> Trace:
    """Play all rounds of a setup."""
    rounds = []
    for played in play(setup):
        rounds.append(played)
        if progress is not None:
            progress(played.t)
    return Trace(
        np.stack([played.local_loss for played in rounds]),
        np.stack([played.global_loss for played in rounds]),
    )


def play(setup: Setup) -> Iterator[Round]:
    """Yield round after round, up to the last."""
    twin = algorithm(setup.scenario.algorithm.name).vectorised
    return in_lockstep(setup) if twin is None else _as_arrays(found_at(twin)(setup), setup)


def in_lockstep(setup: Setup) -> Iterator[Round]:
    """Play on the agents of `core`, one by one: slower, and the oracle that the vectorised run is held to."""
    agents, book, awaited = setup.agents(), ArrivalBook(setup.delays), _awaited(setup)
    on_its_way: dict[tuple[int, int], Feedback] = {}
    for t in range(1, setup.rounds + 1):
        arrivals = {i: [on_its_way.pop((i, s)) for s in rounds] for i, rounds in arrived(book, t - 1).items()}
        plays = sweep(agents, t, arrivals)
        features, labels = setup.batches(t)
        local = np.empty(setup.n)
        for i, played in enumerate(plays):
            local[i], feedback = observe(setup.loss, played, features[i], labels[i])
            if awaited[i, t - 1]:
                on_its_way[i, t] = feedback
        points = [played.point for played in plays]
        yield Round(t, local, global_losses(setup.loss, points, features, labels))


def arrived(book: ArrivalBook, t: int) -> Arrivals:
    """Return F_t of every agent; before the first round there is none."""
    return book.at(t) if t else {}


def _awaited(setup: Setup) -> NDArray[np.bool_]:
    """Return whose feedback of which round is ever used, (n, rounds): update T moves no play."""
    return np.arange(1, setup.rounds + 1) + setup.delays - 1 < setup.rounds


def _as_arrays(network: De2mfwNetwork, setup: Setup) -> Iterator[Round]:
    book = ArrivalBook(setup.delays)
    for t in range(1, setup.rounds + 1):
        yield network.sweep(t, arrived(book, t - 1))


class De2mfwNetwork:
    """All agents of De2MFW; `sweep` is update t-1 and prediction t, as in `core.de2mfw`."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._W = setup.W.astype(setup.dtype)
        self._steps = [float(eta) for eta in setup.steps]
        self._mixing = [(1 - eta) * self._W for eta in self._steps]
        self._bank = _OracleBank(setup)
        self._start = setup.feasible.start().astype(setup.dtype)
        self._history = _History(setup)
        self._vertices: list[Vertex] = []

    def sweep(self, t: int, arrivals: Arrivals) -> Round:
        """Run update t-1 with `arrivals` and prediction t."""
        _update(self._W, self._history.groups(arrivals), self._bank)
        self._bank.settle()
        features, labels = self._setup.batches(t)
        Z = self._predict(t, features, labels)
        loss = self._setup.loss
        return Round(
            t,
            loss.value(_own(Z, labels.shape[1]), labels).astype(np.float64),
            loss.value(Z, labels.reshape(-1)).astype(np.float64),
        )

    def plays(self) -> Real:
        """Return the plays of the last sweep, (n, C, m): its vertices, mixed and stepped once more."""
        n, shape = self._setup.n, self._setup.feasible.shape
        x = np.broadcast_to(self._start, (n, *shape)).reshape(n, -1)
        for eta, v in zip(self._steps, self._vertices, strict=True):
            dense = densify(v, shape) if isinstance(v, Atoms) else v
            x = (1 - eta) * (self._W @ x) + eta * dense.reshape(n, -1)
        return x.reshape(n, *shape)

    def _predict(self, t: int, features: Real, labels: Labels) -> Real:
        """Return the logits of all plays on all samples, (n, C, n b); keep the residuals of all iterates."""
        n, b, m = features.shape
        samples = features.reshape(-1, m)
        columns = np.ascontiguousarray(samples.T)  # (m, n b): one row a feature, for the atoms
        Z = np.tile(self._start @ samples.T, (n, 1, 1))
        own = np.empty((len(self._steps), n, Z.shape[1], b), dtype=Z.dtype)
        self._vertices = []
        for k, (eta, mixing) in enumerate(zip(self._steps, self._mixing, strict=True), start=1):
            own[k - 1] = _own(Z, b)
            v = self._bank.answer(t, k)
            self._vertices.append(v)
            Z = (mixing @ Z.reshape(n, -1)).reshape(Z.shape)
            _add_logits(Z, eta, v, columns)
        self._history.keep(t, self._setup.loss.residual(own, labels))
        return Z


def _own(Z: Real, b: int) -> Real:
    """Return every agent's logits on its own samples, (n, C, b), of those on all, (n, C, n b)."""
    n = len(Z)
    return Z.reshape(n, -1, n, b).diagonal(axis1=0, axis2=2).transpose(2, 0, 1)


def _add_logits(Z: Real, eta: float, v: Vertex, columns: Real) -> None:
    """Add eta times the vertices' logits to Z (n, C, S), `columns` (m, S) being the samples transposed."""
    if not isinstance(v, Atoms):
        Z += eta * (v @ columns)
        return
    c, j = np.divmod(v.index, len(columns))  # (n, s)
    moves = columns[j]  # (n, s, S)
    moves *= (eta * v.value)[..., None]
    if c.shape[1] == Z.shape[1] and (c == np.arange(Z.shape[1])).all():  # one atom a class, in order
        Z += moves
    else:
        np.add.at(Z, (np.arange(len(Z))[:, None], c), moves)


class _OracleBank:
    """The oracles of all agents: `leader` is (K, C, n, m), sub-iteration by sub-iteration, class by class."""

    def __init__(self, setup: Setup) -> None:
        spec = [setup.agent_spec(i) for i in range(setup.n)]
        shape, K = setup.feasible.shape, len(setup.steps)
        self._feasible: FeasibleSet = setup.feasible
        self._descends = setup.scenario.algorithm.oracle == "ogd"
        self._noise: list[Noise] = (
            []
            if self._descends
            else [make_noise(s.noise, shape, K, seed=s.seed, agent=s.agent) for s in spec]
        )
        self._noise_is_fixed = setup.noise == "fixed"
        first = [setup.feasible.start()] * setup.n if self._descends else [a.constant() for a in self._noise]
        self.leader = np.tile(np.stack(first, axis=1).astype(setup.dtype), (K, 1, 1, 1))

    def answer(self, t: int, k: int) -> Vertex:
        """Return all agents' v_{t,k}: atoms (n, s) or points (n, C, m)."""
        leader = _by_agent(self.leader[k - 1])
        if self._descends:
            return leader.copy()
        if self._noise_is_fixed:
            return self._feasible.vertex(leader)
        fresh = [noise.fresh(t, k) for noise in self._noise]
        return self._feasible.vertex(leader + np.stack([value for value in fresh if value is not None]))

    def feed(self, k: int, classes: slice, d: Real) -> None:
        """Feed every agent's oracle k (0-based) its zeta d of some classes, (classes, n, m)."""
        leader = self.leader[k, classes]
        if self._descends:
            leader -= d
        else:
            leader += d

    def settle(self) -> None:
        """Bring the leaders back into the set, where the oracle is one that projects."""
        if self._descends:
            self.leader = self._feasible.project(self.leader.swapaxes(1, 2)).swapaxes(1, 2)


@dataclass(frozen=True, eq=False)
class _Group:
    """The arrivals of agents that got equally many: their samples and their residuals' steps."""

    agents: NDArray[np.int64]  # (a,)
    features: Real  # (a, q b, m)
    steps: Real  # (K, a, C, q b): the residuals at k less those at k-1, times zeta


def _update(W: Real, groups: Sequence[_Group], bank: _OracleBank) -> None:
    """Run one update block: g_{k+1} = d_k + change of the arrived gradients, d_{k+1} = W g_{k+1}; feed d_k.

    Everything is linear in the classes, so a few classes at a time go through all k: what is worked on
    stays in the cache. All of it is times zeta: the few residuals are scaled, not the many sums.
    """
    if not groups:
        return  # nothing has arrived anywhere: every tracker is zero
    K, _, C, _ = groups[0].steps.shape
    n, m = len(W), groups[0].features.shape[-1]
    width = max(1, _CACHE // (3 * n * m * W.itemsize))
    for first in range(0, C, width):
        classes = slice(first, min(first + width, C))
        g = np.empty((classes.stop - first, n, m), dtype=W.dtype)
        d = np.zeros_like(g)
        for k in range(K):
            _add_changes(g, d, groups, k, classes)
            np.matmul(W, g, out=d)
            bank.feed(k, classes, d)


def _add_changes(g: Real, d: Real, groups: Sequence[_Group], k: int, classes: slice) -> None:
    """Set g to d plus the change of the arrived gradients at sub-iteration k (0-based), (classes, n, m)."""
    if len(groups[0].agents) == g.shape[1]:  # everyone got equally many: no need to place them
        np.matmul(groups[0].steps[k][:, classes], groups[0].features, out=_by_agent(g))
        g += d
        return
    np.copyto(g, d)
    for group in groups:
        g[:, group.agents] += _by_class(np.matmul(group.steps[k][:, classes], group.features))


class _History:
    """The residuals of rounds whose feedback is still on its way: some 80 kB a round, never the gradients."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._residuals: dict[int, Real] = {}
        self._awaited = _awaited(setup).sum(axis=0)  # (rounds,)

    def keep(self, t: int, residuals: Real) -> None:
        """Keep the residuals (K, n, C, b) of round t for as long as somebody waits for them."""
        if self._awaited[t - 1]:
            self._residuals[t] = residuals

    def groups(self, arrivals: Arrivals) -> list[_Group]:
        """Take out what has arrived, agents grouped by how many feedbacks they got."""
        by_count: dict[int, list[tuple[int, Sequence[int]]]] = {}
        for agent, rounds in arrivals.items():
            by_count.setdefault(len(rounds), []).append((agent, rounds))
        groups = [self._group(members) for _, members in sorted(by_count.items())]
        for rounds in arrivals.values():
            for s in rounds:
                self._release(s)
        return groups

    def _group(self, members: Sequence[tuple[int, Sequence[int]]]) -> _Group:
        setup = self._setup
        index = np.stack(
            [np.concatenate([setup.streams[i].indices(s) for s in rounds]) for i, rounds in members]
        )
        residuals = np.stack(
            [np.concatenate([self._residuals[s][:, i] for s in rounds], axis=-1) for i, rounds in members],
            axis=1,
        )
        steps = np.diff(residuals, axis=0, prepend=np.zeros_like(residuals[:1])) * setup.zeta
        agents = np.array([i for i, _ in members])
        return _Group(agents, setup.dataset.rows(index, setup.dtype), steps)

    def _release(self, s: int) -> None:
        self._awaited[s - 1] -= 1
        if not self._awaited[s - 1]:
            del self._residuals[s]


def _by_agent(a: Real) -> Real:
    """Return (C, n, m) seen as (n, C, m)."""
    return a.transpose(1, 0, 2)


def _by_class(a: Real) -> Real:
    """Return (n, C, m) seen as (C, n, m)."""
    return a.transpose(1, 0, 2)
