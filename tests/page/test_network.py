"""Where agents stand, and who stands for whom where there are many."""

from __future__ import annotations

import numpy as np
import pytest
import tiny

from edgefw.page.groups import GROUPS, MOST_AGENTS, grouped
from edgefw.page.network import drawing
from edgefw.problem.graph import build


@pytest.mark.parametrize("topology", list(tiny.TOPOLOGIES.values()), ids=list(tiny.TOPOLOGIES))
def test_everyone_has_a_place_of_its_own(topology: dict[str, object]) -> None:
    options = {"agents": 6, **topology}
    n, name = int(str(options.pop("agents"))), str(options.pop("topology"))
    graph = build(name, n, seed=3, **options)
    found = drawing(graph, name, 3)
    places = np.array([(node["x"], node["y"]) for node in found["nodes"]])
    assert places.shape == (n, 2)
    assert (places >= -1e-6).all()
    assert (places <= 1 + 1e-6).all()
    apart = np.linalg.norm(places[:, None] - places[None], axis=2) + np.eye(n)
    assert apart.min() > 0.05
    assert found["edges"] == [tuple(edge) for edge in graph.edges]
    assert found["groups"] is None


def test_a_drawing_is_a_function_of_its_seed() -> None:
    graph = build("small_world", 30, degree=4, p=0.3, seed=1)
    assert drawing(graph, "small_world", 1) == drawing(graph, "small_world", 1)


@pytest.mark.parametrize("n", [MOST_AGENTS + 1, 1000])
def test_many_stand_in_groups_that_miss_nobody(n: int) -> None:
    graph = build("cycle", n, seed=0)
    groups = grouped(graph)
    assert len(groups) <= GROUPS
    assert sorted(i for members in groups for i in members) == list(range(n))
    found = drawing(graph, "cycle", 0)
    assert found["groups"] == groups
    assert len(found["nodes"]) == len(groups)
    homes = {i: g for g, members in enumerate(groups) for i in members}
    for i, j in graph.edges:
        pair = tuple(sorted((homes[i], homes[j])))
        assert pair[0] == pair[1] or pair in found["edges"]
