from __future__ import annotations

import fabricated
import numpy as np
import pytest

from edgefw.experiments import table1
from edgefw.experiments.counting import Tally
from edgefw.experiments.published import TABLE_1
from edgefw.experiments.table1 import Cost
from edgefw.problem.feasible import make_set
from edgefw.problem.loss import make_loss
from edgefw.scenario.setup import resolve

K = 4  # of a horizon of 12: ceil(sqrt(12))


def cost(name: str, graph: str = "-", *settings: str) -> Cost:
    base, topology = ("paper-centralized", "complete") if graph == "-" else ("paper-distributed", graph)
    size = [f"algorithm.sub_iterations={K}", f"network.agents={1 if graph == '-' else 6}"]
    chosen = [f"algorithm.name={name}", f"network.topology={topology}", "delays=[]", *size, *settings]
    return table1.count(resolve(fabricated.TINY.scenario(base, 1, chosen)), graph, rounds=3)


@pytest.mark.parametrize(
    ("name", "projections", "vertices", "gradients"),
    [
        ("dgd", 1, 0, 1),
        ("dofw", 0, 1, 1),
        ("delmfw", 0, K, K),
        ("mfw", 0, K, K),
        ("bold-mfw", 0, K, K),
    ],
)
def test_a_lone_learners_round(name: str, projections: int, vertices: int, gradients: int) -> None:
    assert cost(name) == Cost(name, "-", K, projections, vertices, gradients, 0)


@pytest.mark.parametrize(("graph", "degree"), [("cycle", 2), ("complete", 5)])
def test_a_networks_round(graph: str, degree: int) -> None:
    assert cost("de2mfw", graph) == Cost("de2mfw", graph, K, 0, K, K, degree * K)
    assert cost("distributed-dgd", graph) == Cost("distributed-dgd", graph, K, 1, 0, 1, degree)


def test_uneven_degrees_are_averaged() -> None:
    found = cost("de2mfw", "star")
    assert found.messages == pytest.approx(10 / 6 * K)


def test_an_oracle_that_projects_is_found_out() -> None:
    found = cost("de2mfw", "cycle", "algorithm.oracle=ogd")
    assert (found.projections, found.vertices) == (K, 0)
    assert not found.projection_free


def test_a_projection_where_the_paper_has_none_fails_the_claim() -> None:
    costs = [Cost(name, "-", K, 0 if row.projection_free else 1, 1, 1, 0) for name, row in TABLE_1.items()]
    assert table1.claims(costs)[0].holds
    assert not table1.claims([*costs, Cost("delmfw", "-", K, 1, 1, 1, 0)])[0].holds


def test_the_counting_set_answers_as_the_set_it_counts_for() -> None:
    tally, inner = Tally(), make_set("l1_per_class", (3, 5), 2.0)
    counting = tally.of_set(inner)
    points = np.random.default_rng(0).normal(size=(4, 3, 5))
    assert np.array_equal(counting.lmo(points), inner.lmo(points))
    assert np.array_equal(counting.project(points), inner.project(points))
    assert np.array_equal(counting.contains(points), inner.contains(points))
    assert (counting.diameter, counting.size) == (inner.diameter, inner.size)
    assert (tally.vertices, tally.projections) == (4, 4)


def test_the_counting_loss_counts_points_and_not_samples() -> None:
    tally = Tally()
    loss = tally.of_loss(make_loss("multinomial"))
    Z, y = np.zeros((7, 3, 2)), np.array([0, 2])
    assert np.array_equal(loss.residual(Z, y), make_loss("multinomial").residual(Z, y))
    assert np.array_equal(loss.value(Z, y), make_loss("multinomial").value(Z, y))
    assert tally.gradients == 7
