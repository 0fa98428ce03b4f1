from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.errors import InputError
from edgefw.problem import graph as graphs
from edgefw.problem.graph import Graph, build, mixing_weights

DRAWN = ("erdos_renyi", "random_regular", "small_world")
FIXED = ("complete", "cycle", "line", "star", "grid")


def sides(topology: str, n: int) -> dict[str, int]:
    """Say that a grid of a prime number of agents is meant to be a line: otherwise it is refused."""
    prime = n > 2 and all(n % side for side in range(2, n))
    return {"rows": 1} if topology == "grid" and prime else {}


@settings(deadline=None, max_examples=120)
@given(st.sampled_from(FIXED + DRAWN), st.integers(1, 24), st.integers(0, 2**40))
def test_mixing_weights_are_symmetric_and_doubly_stochastic(topology: str, n: int, seed: int) -> None:
    if topology in {"random_regular", "small_world"}:
        n += 4  # degree 4 needs five agents
    graph = build(topology, n, seed=seed, p=0.5, **sides(topology, n))
    W = mixing_weights(graph)
    assert W.shape == (n, n)
    assert W.dtype == np.float64
    assert np.array_equal(W, W.T)
    np.testing.assert_allclose(W.sum(axis=0), 1, atol=1e-12)
    assert (W >= 0).all()
    off_diagonal = {(i, j) for i, j in zip(*np.nonzero(np.triu(W, 1)), strict=True)}
    assert off_diagonal == set(graph.edges)
    assert np.abs(np.linalg.eigvalsh(W)[:-1]).max(initial=0.0) < 1  # so that mixing brings all together


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(FIXED + DRAWN), st.integers(5, 30), st.integers(0, 1000))
def test_a_graph_is_connected_sorted_and_the_same_for_a_seed(topology: str, n: int, seed: int) -> None:
    graph = build(topology, n, seed=seed, **sides(topology, n))
    assert not graph.unreachable()
    assert list(graph.edges) == sorted(set(graph.edges))
    assert all(0 <= i < j < n for i, j in graph.edges)
    assert graph == build(topology, n, seed=seed, **sides(topology, n))
    for i in range(n):
        assert list(graph.neighbours(i)) == sorted(graph.neighbours(i))
        assert all(i in graph.neighbours(j) for j in graph.neighbours(i))
        assert graph.degrees[i] == len(graph.neighbours(i))


@pytest.mark.parametrize("topology", DRAWN)
def test_another_seed_is_another_random_graph(topology: str) -> None:
    assert len({build(topology, 30, seed=seed).edges for seed in range(5)}) == 5


@pytest.mark.parametrize("n", [2, 3, 10])
def test_the_complete_graph_averages_at_once(n: int) -> None:
    W = mixing_weights(build("complete", n, seed=0))
    np.testing.assert_allclose(W, 1 / n, atol=1e-15)


@pytest.mark.parametrize("topology", FIXED)
def test_one_agent_has_no_edges(topology: str) -> None:
    graph = build(topology, 1, seed=0)
    assert graph.edges == ()
    assert graph.neighbours(0) == ()
    assert mixing_weights(graph).tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("topology", "n", "edges"),
    [
        ("cycle", 2, ((0, 1),)),
        ("cycle", 4, ((0, 1), (0, 3), (1, 2), (2, 3))),
        ("line", 4, ((0, 1), (1, 2), (2, 3))),
        ("star", 4, ((0, 1), (0, 2), (0, 3))),
        ("grid", 4, ((0, 1), (0, 2), (1, 3), (2, 3))),
        ("complete", 3, ((0, 1), (0, 2), (1, 2))),
    ],
)
def test_small_graphs_edge_by_edge(topology: str, n: int, edges: tuple[tuple[int, int], ...]) -> None:
    assert build(topology, n, seed=0).edges == edges


def test_thirty_agents_make_a_grid_of_five_by_six() -> None:
    assert build("grid", 30, seed=0) == build("grid", 30, rows=5, cols=6, seed=0)
    assert build("grid", 30, rows=5, seed=0) == build("grid", 30, cols=6, seed=0)
    assert build("grid", 30, seed=0) != build("grid", 30, rows=6, cols=5, seed=0)
    assert len(build("grid", 30, seed=0).edges) == 5 * 5 + 4 * 6


@pytest.mark.parametrize("side", ["rows", "cols"])
def test_a_grid_of_one_row_or_column_is_a_line_if_that_is_said(side: str) -> None:
    assert build("grid", 7, seed=0, **{side: 1}) == build("line", 7, seed=0)
    assert build("grid", 2, seed=0) == build("line", 2, seed=0)
    assert build("grid", 4, seed=0, rows=1) == build("line", 4, seed=0)


def test_degrees_of_the_random_topologies() -> None:
    assert set(build("random_regular", 30, seed=3).degrees) == {4}
    assert set(build("random_regular", 10, degree=3, seed=3).degrees) == {3}
    assert len(build("small_world", 30, degree=6, seed=3).edges) == 90
    assert build("small_world", 12, degree=2, p=0, seed=3) == build("cycle", 12, seed=0)
    assert build("erdos_renyi", 12, p=1, seed=3) == build("complete", 12, seed=0)


def test_erdos_renyi_redraws_until_connected_and_has_about_p_of_the_edges() -> None:
    counts = [len(build("erdos_renyi", 30, seed=seed).edges) for seed in range(60)]
    assert np.mean(counts) / 435 == pytest.approx(0.3, abs=0.02)
    assert not build("erdos_renyi", 20, p=0.13, seed=1).unreachable()  # four in five such graphs are not


def test_the_users_edges_are_sorted_and_kept_once() -> None:
    graph = build("edges", 3, edges=[[2, 1], (1, 0), [0, 1]], seed=0)
    assert graph == Graph(3, ((0, 1), (1, 2)))
    assert build("edges", 1, edges=[], seed=0).edges == ()


@pytest.mark.parametrize(
    ("topology", "n", "options", "message"),
    [
        ("cycel", 5, {}, r"unknown topology 'cycel': did you mean 'cycle'\?"),
        ("cycle", 0, {}, "agents is 0: a network has at least one agent"),
        ("cycle", 5, {"seed": -1}, "seed is -1"),
        ("grid", 7, {}, "a grid of 7 agents is a line of 1 x 7, .*: take 6 or 8 agents, or another topology"),
        ("grid", 3, {}, "a grid of 3 agents is a line"),
        ("grid", 30, {"rows": 4}, "a grid of 4 x 7 does not hold 30 agents"),
        ("grid", 30, {"rows": 4, "cols": 6}, "a grid of 4 x 6 does not hold 30 agents"),
        ("grid", 30, {"cols": 0}, "cols is 0"),
        ("erdos_renyi", 30, {"p": 1.5}, "p is 1.5: a probability"),
        ("erdos_renyi", 30, {"p": 0.001}, "none of 1000 random graphs of 30 agents .* p = 0.001: raise p"),
        ("random_regular", 5, {"degree": 3}, r"agents \* degree must be even"),
        ("random_regular", 4, {}, "degree is 4: with 4 agents it must be between 0 and 3"),
        ("random_regular", 4, {"degree": 1}, "none of 1000 random graphs of 4 agents .* degree = 1"),
        ("random_regular", 6, {"degree": -2}, "degree is -2"),
        ("small_world", 6, {"degree": 3}, "degree is 3: small_world joins degree/2"),
        ("small_world", 6, {"degree": 6}, "degree is 6: with 6 agents"),
        ("edges", 3, {}, "needs the list of edges"),
        (
            "edges",
            3,
            {"edges": [[0, 3]]},
            r"edge \[0, 3\] names an agent that does not exist: agents are 0..2",
        ),
        ("edges", 3, {"edges": [[-1, 2]]}, r"edge \[-1, 2\] names an agent"),
        ("edges", 3, {"edges": [[1, 1]]}, r"edge \[1, 1\] joins agent 1 to itself"),
        ("edges", 3, {"edges": [[0, 1, 2]]}, r"edge \[0, 1, 2\] is not a pair"),
    ],
)
def test_what_cannot_be_built_says_why(
    topology: str, n: int, options: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        build(topology, n, **{"seed": 0, **options})  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_a_disconnected_graph_names_the_agents_that_are_cut_off() -> None:
    with pytest.raises(InputError) as caught:
        build("edges", 5, edges=[[0, 1], [1, 2], [3, 4]], seed=0)
    assert str(caught.value) == (
        "the graph is not connected: agents [3, 4] cannot be reached from agent 0; "
        "add an edge between agent 0 and agent 3, for example"
    )
    with pytest.raises(InputError, match=r"\[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, \.\.\.\] cannot"):
        build("edges", 40, edges=[], seed=0)
    assert Graph(2, ()).unreachable() == (1,)


def test_networkx_is_imported_by_the_topologies_that_need_it_only() -> None:
    light = ["complete", "cycle", "line", "star", "grid", "erdos_renyi"]
    program = (
        "import sys; from edgefw.problem.graph import build, mixing_weights;"
        f"[mixing_weights(build(name, 9, seed=0)) for name in {light}];"
        "sys.exit('networkx' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_every_topology_is_covered_here() -> None:
    assert set(graphs.TOPOLOGIES) == {*FIXED, *DRAWN, "edges"}
