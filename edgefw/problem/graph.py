"""Who talks to whom (a connected graph) and how much each is listened to (the mixing weights W)."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.errors import InputError, known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

TRIES = 1000  # draws of a random graph before we say that it will not become connected


@dataclass(frozen=True)
class Graph:
    """An undirected graph on agents 0..n-1.

    `edges` may be given in any order and direction; they are kept as sorted pairs (i, j), i < j, once each.

    >>> Graph(3, ((2, 1), (0, 1), (1, 0))).edges
    ((0, 1), (1, 2))
    """

    n: int
    edges: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        if self.n < 1:
            raise InputError(f"agents is {self.n}: a network has at least one agent", "agents")
        pairs = {_edge(self.n, edge) for edge in self.edges}
        object.__setattr__(self, "edges", tuple(sorted(pairs)))

    @cached_property
    def _adjacency(self) -> tuple[tuple[int, ...], ...]:
        lists: list[list[int]] = [[] for _ in range(self.n)]
        for i, j in self.edges:
            lists[i].append(j)
            lists[j].append(i)
        return tuple(tuple(sorted(each)) for each in lists)

    def neighbours(self, i: int) -> tuple[int, ...]:
        """Return N(i), sorted, without i itself."""
        return self._adjacency[i]

    @property
    def degrees(self) -> tuple[int, ...]:
        """The number of neighbours of every agent."""
        return tuple(len(each) for each in self._adjacency)

    @cached_property
    def diameter(self) -> int:
        """The largest number of edges between two agents.

        >>> Graph(4, ((0, 1), (1, 2), (2, 3))).diameter
        3
        """
        return max(self._farthest(i) for i in range(self.n))

    def _farthest(self, i: int) -> int:
        """Return how many edges away from agent i the farthest one is that can be reached."""
        seen, frontier, edges = {i}, {i}, 0
        while frontier := {j for k in frontier for j in self._adjacency[k]} - seen:
            seen |= frontier
            edges += 1
        return edges

    def unreachable(self) -> tuple[int, ...]:
        """Return the agents that no path joins to agent 0, sorted."""
        seen, frontier = {0}, [0]
        while frontier:
            new = set(self._adjacency[frontier.pop()]) - seen
            seen |= new
            frontier.extend(new)
        return tuple(i for i in range(self.n) if i not in seen)


def build(topology: str, n: int, *, seed: int, **options: Any) -> Graph:
    """Return the connected graph of a topology; options that belong to other topologies are not looked at.

    Random topologies (erdos_renyi, random_regular, small_world) are a function of `seed`.

    >>> build("grid", 6, seed=0).edges
    ((0, 1), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (4, 5))
    """
    draw = known("topology", topology, TOPOLOGIES)
    if n < 1:
        raise InputError(f"agents is {n}: a network has at least one agent", "agents")
    if seed < 0:
        raise InputError(f"seed is {seed}: it must be 0 or more")
    graph = draw(_Options(n, seed, **options))
    if missed := graph.unreachable():
        listing = str(list(missed)) if len(missed) <= 10 else f"[{', '.join(map(str, missed[:10]))}, ...]"
        raise InputError(
            f"the graph is not connected: agents {listing} cannot be reached from agent 0; "
            f"add an edge between agent 0 and agent {missed[0]}, for example"
        )
    return graph


def mixing_weights(graph: Graph) -> NDArray[np.float64]:
    """Return W (n, n), symmetric, doubly stochastic: w_ij = 1/(1 + max(deg_i, deg_j)), w_ii the rest.

    >>> mixing_weights(Graph(2, ((0, 1),)))
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    W = np.zeros((graph.n, graph.n))
    degrees = graph.degrees
    for i, j in graph.edges:
        W[i, j] = W[j, i] = 1 / (1 + max(degrees[i], degrees[j]))
    np.fill_diagonal(W, 1 - W.sum(axis=1))
    return W


@dataclass(frozen=True)
class _Options:
    n: int
    seed: int
    rows: int | None = None
    cols: int | None = None
    p: float | None = None
    degree: int | None = None
    edges: Sequence[Sequence[int]] | None = None


def _edge(n: int, edge: Sequence[int]) -> tuple[int, int]:
    if len(edge) != 2:
        raise InputError(f"edge {list(edge)} is not a pair: write it [i, j], with two agents")
    i, j = sorted(edge)
    if i < 0 or j >= n:
        raise InputError(f"edge {list(edge)} names an agent that does not exist: agents are 0..{n - 1}")
    if i == j:
        raise InputError(f"edge {list(edge)} joins agent {i} to itself: leave it out, w_ii is there anyway")
    return i, j


def _complete(o: _Options) -> Graph:
    return Graph(o.n, tuple((i, j) for i in range(o.n) for j in range(i + 1, o.n)))


def _line(o: _Options) -> Graph:
    return Graph(o.n, tuple((i, i + 1) for i in range(o.n - 1)))


def _cycle(o: _Options) -> Graph:
    ends = ((0, o.n - 1),) if o.n > 2 else ()
    return Graph(o.n, _line(o).edges + ends)


def _star(o: _Options) -> Graph:
    return Graph(o.n, tuple((0, j) for j in range(1, o.n)))


def _grid(o: _Options) -> Graph:
    rows, cols = _grid_sides(o)
    if rows * cols != o.n:
        raise InputError(f"a grid of {rows} x {cols} does not hold {o.n} agents: rows * cols must be {o.n}")
    right = [(i, i + 1) for i in range(o.n) if (i + 1) % cols]
    down = [(i, i + cols) for i in range(o.n - cols)]
    return Graph(o.n, tuple(right + down))


def _grid_sides(o: _Options) -> tuple[int, int]:
    """Return (rows, cols): what the user gave, the missing side by division, or the most square pair."""
    for name, side in (("rows", o.rows), ("cols", o.cols)):
        if side is not None and side < 1:
            raise InputError(f"{name} is {side}: a grid has at least one", name)
    if o.rows is not None:
        return o.rows, o.cols if o.cols is not None else max(1, o.n // o.rows)
    if o.cols is not None:
        return max(1, o.n // o.cols), o.cols
    rows = max(side for side in range(1, math.isqrt(o.n) + 1) if o.n % side == 0)
    if rows == 1 and o.n > 2:  # of one or two agents every topology is the same
        raise InputError(
            f"a grid of {o.n} agents is a line of 1 x {o.n}, for {o.n} is prime: take {o.n - 1} or {o.n + 1} "
            "agents, or another topology; if a line is meant, topology line, or rows: 1"
        )
    return rows, o.n // rows


def _erdos_renyi(o: _Options) -> Graph:
    p = _probability(o.p, default=0.3)
    rng = np.random.default_rng(o.seed)
    pairs = np.column_stack(np.triu_indices(o.n, 1))

    def draw() -> Iterable[tuple[int, int]]:
        return [(i, j) for i, j in pairs[rng.random(len(pairs)) < p].tolist()]

    return _redraw(o.n, draw, f"p = {p}: raise p")


def _random_regular(o: _Options) -> Graph:
    import networkx as nx  # noqa: PLC0415  (an agent process never draws a graph: it must not pay for this)

    degree = _degree(o)
    if o.n * degree % 2:
        raise InputError(
            f"no graph of {o.n} agents has degree {degree} everywhere: agents * degree must be even"
        )
    rng = random.Random(o.seed)
    return _redraw(
        o.n,
        lambda: nx.random_regular_graph(degree, o.n, seed=rng).edges,
        f"degree = {degree}: raise degree",
    )


def _small_world(o: _Options) -> Graph:
    """Watts and Strogatz: a ring, each agent joined to its `degree` nearest, edges rewired with chance p."""
    import networkx as nx  # noqa: PLC0415  (as above)

    degree, p = _degree(o), _probability(o.p, default=0.1)
    if degree % 2 or degree < 2:
        raise InputError(
            f"degree is {degree}: small_world joins degree/2 agents on each side: give 2, 4, ...", "degree"
        )
    rng = random.Random(o.seed)
    return _redraw(
        o.n,
        lambda: nx.watts_strogatz_graph(o.n, degree, p, seed=rng).edges,
        f"degree = {degree}, p = {p}: raise degree or lower p",
    )


def _edges(o: _Options) -> Graph:
    if o.edges is None:
        raise InputError("topology 'edges' needs the list of edges: edges: [[0, 1], [1, 2], ...]", "topology")
    return Graph(o.n, tuple(_edge(o.n, edge) for edge in o.edges))


def _probability(p: float | None, *, default: float) -> float:
    value = default if p is None else p
    if not 0 <= value <= 1:
        raise InputError(f"p is {value}: a probability lies between 0 and 1", "p")
    return value


def _degree(o: _Options) -> int:
    degree = 4 if o.degree is None else o.degree
    if not 0 <= degree < o.n:
        raise InputError(
            f"degree is {degree}: with {o.n} agents it must be between 0 and {o.n - 1}", "degree"
        )
    return degree


def _redraw(n: int, draw: Callable[[], Iterable[tuple[int, int]]], setting: str) -> Graph:
    """Return the first connected graph among successive draws."""
    for _ in range(TRIES):
        graph = Graph(n, tuple(draw()))
        if not graph.unreachable():
            return graph
    raise InputError(f"none of {TRIES} random graphs of {n} agents was connected with {setting}")


TOPOLOGIES: dict[str, Callable[[_Options], Graph]] = {
    "complete": _complete,
    "cycle": _cycle,
    "line": _line,
    "star": _star,
    "grid": _grid,
    "erdos_renyi": _erdos_renyi,
    "random_regular": _random_regular,
    "small_world": _small_world,
    "edges": _edges,
}
