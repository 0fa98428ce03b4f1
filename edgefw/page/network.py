"""The network as a drawing: where its agents stand, or groups of them where there are many."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.page.groups import grouped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgefw.problem.graph import Graph


def drawing(graph: Graph, topology: str, seed: int) -> dict[str, Any]:
    """Return the nodes with their places in [0, 1] x [0, 1], who is in which, and the edges between them."""
    groups = grouped(graph)
    home = {i: g for g, members in enumerate(groups) for i in members}
    edges = sorted({(min(a, b), max(a, b)) for i, j in graph.edges if (a := home[i]) != (b := home[j])})
    alone = len(groups) == graph.n
    places = _places(len(groups), edges, topology if alone else "groups", seed)
    return {
        "nodes": [{"x": float(x), "y": float(y)} for x, y in places.round(4)],
        "groups": None if alone else groups,
        "edges": edges,
    }


def _places(n: int, edges: list[tuple[int, int]], topology: str, seed: int) -> NDArray[np.float64]:
    if topology == "grid":
        cols = next((j for i, j in edges if i == 0 and j > 1), n)
        return _fitted(np.array([(i % cols, i // cols) for i in range(n)], dtype=np.float64))
    if topology == "line":
        return _fitted(_serpentine(n))
    if topology == "star":
        return _fitted(np.concatenate([[[0.0, 0.0]], _circle(n - 1)]))
    if topology in {"cycle", "complete"} or n < 3:
        return _fitted(_circle(n))
    import networkx as nx  # noqa: PLC0415 - slow to load

    network: nx.Graph[int] = nx.Graph()
    network.add_nodes_from(range(n))
    network.add_edges_from(edges)
    start = dict(enumerate(_circle(n)))
    found = nx.spring_layout(network, pos=start, seed=seed, iterations=300, k=1.8 / math.sqrt(n))
    return _fitted(np.array([found[i] for i in range(n)]))


def _circle(n: int) -> NDArray[np.float64]:
    """Return n places on a circle, the first at its top, clockwise."""
    angle = 2 * np.pi * np.arange(n) / max(n, 1) - np.pi / 2
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _serpentine(n: int) -> NDArray[np.float64]:
    """Return places in rows that are read forth and back: a line of many does not fit into one."""
    cols = n if n <= 10 else math.ceil(math.sqrt(2 * n))
    rows, column = np.divmod(np.arange(n), cols)
    return np.stack([np.where(rows % 2, cols - 1 - column, column), rows], axis=1).astype(np.float64)


def _fitted(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return places moved and scaled, in both directions alike, into [0, 1] x [0, 1]."""
    least, most = places.min(axis=0), places.max(axis=0)
    size = max(float((most - least).max()), 1e-9)
    fitted: NDArray[np.float64] = (places - (least + most) / 2) / size + 0.5
    return fitted
