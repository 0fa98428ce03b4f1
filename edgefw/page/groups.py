"""Who is shown together: beyond so many agents, neighbourhoods of them stand for their members. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgefw.problem.graph import Graph

MOST_AGENTS = 200  # that are shown one by one
GROUPS = 60


def grouped(graph: Graph) -> list[list[int]]:
    """Return who is drawn together: everyone alone or, of many, neighbourhoods of about the same size."""
    if graph.n <= MOST_AGENTS:
        return [[i] for i in range(graph.n)]
    size, nearby = math.ceil(graph.n / GROUPS), _by_distance(graph)
    return [sorted(nearby[begin : begin + size]) for begin in range(0, graph.n, size)]


def _by_distance(graph: Graph) -> list[int]:
    """Return the agents in the order of a search from agent 0 that stays near: neighbours come together."""
    seen, order, stack = {0}, list[int](), [0]
    while stack:
        i = stack.pop()
        order.append(i)
        new = [j for j in graph.neighbours(i) if j not in seen]
        seen.update(new)
        stack.extend(reversed(new))
    return order
