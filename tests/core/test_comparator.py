"""The certificate of the best fixed point is true: no point of the set is better than value - gap."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from edgefw.core import comparator
from edgefw.core.comparator import Objective, Solution, certify, solve
from edgefw.core.regret import Comparator
from edgefw.problem.feasible import NAMES as SETS
from edgefw.problem.feasible import make_set
from edgefw.problem.loss import make_loss

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgefw.problem.feasible import FeasibleSet

    Point = NDArray[np.floating[Any]]

CLASSES, FEATURES, SAMPLES, RADIUS = 3, 4, 40, 3.0
FITTED = 1e-6  # relative: what a search in float64 reaches here
OVERLAP, APART = 1.0, 0.05  # how noisy: classes that overlap, and classes that a line separates


def make(
    noise: float, loss: str = "multinomial", feasible: str = "l1_per_class", dtype: str = "float64"
) -> tuple[Objective, FeasibleSet]:
    random = np.random.default_rng(8)
    labels = random.integers(CLASSES, size=SAMPLES)
    prototypes = 2 * np.eye(CLASSES, FEATURES)
    features = (prototypes[labels] + noise * random.normal(size=(SAMPLES, FEATURES))).astype(dtype)
    weights = random.integers(1, 4, size=SAMPLES).astype(dtype)
    kind = make_loss(loss)
    chosen = make_set(feasible, (kind.outputs(CLASSES), FEATURES), RADIUS)
    return Objective(kind, lambda part, kind: features[part].astype(kind), labels, weights), chosen


def value(objective: Objective, x: Point) -> float:
    """Return the objective sample by sample, as its definition says."""
    features = objective.rows(slice(None), objective.weights.dtype)
    each = zip(features, objective.labels, objective.weights, strict=True)
    return sum(float(w * objective.loss.value(x @ a[:, None], np.array([y]))) for a, y, w in each)


def within(relative: float) -> Callable[[Comparator], bool]:
    return lambda found: found.gap <= relative * max(found.value, 1e-3)


def frank_wolfe(objective: Objective, feasible: FeasibleSet, steps: int = 150) -> Point:
    """Return what a plain Frank-Wolfe method with line search reaches: another method than the one tested."""
    x = feasible.start()
    for _ in range(steps):
        v = feasible.lmo(objective.gradient(objective.logits(x)))
        along = minimize_scalar(
            lambda s, x=x, v=v: objective.value(objective.logits(x + s * (v - x))),
            bounds=(0, 1),
            method="bounded",
        )
        x = x + along.x * (v - x)
    return x


def random_points(feasible: FeasibleSet) -> list[Point]:
    random = np.random.default_rng(9)
    far = random.normal(size=(60, *feasible.shape)) * random.choice([0.1, 1, 10], size=(60, 1, 1))
    return [*feasible.project(far), *feasible.lmo(far), feasible.start(), feasible.uniform_start()]


@pytest.mark.parametrize("feasible", SETS)
@pytest.mark.parametrize("noise", [OVERLAP, APART])
def test_no_point_of_the_set_is_better_than_the_certificate(feasible: str, noise: float) -> None:
    objective, chosen = make(noise, feasible=feasible)
    found = solve(objective, chosen, within(FITTED), max_iterations=2000)
    comparator = found.comparator
    assert chosen.contains(found.point)
    assert comparator.value == pytest.approx(value(objective, found.point), rel=1e-12)
    assert 0 <= comparator.gap <= FITTED * comparator.value
    others = [*random_points(chosen), frank_wolfe(objective, chosen)]
    assert all(comparator.value - comparator.gap <= value(objective, x) + 1e-9 for x in others)


@pytest.mark.parametrize("loss", ["multinomial", "squared", "binary_logistic"])
@pytest.mark.parametrize("feasible", ["l1_ball", "l2_ball", "box"])
def test_an_independent_solver_finds_the_same_optimum(feasible: str, loss: str) -> None:
    objective, chosen = make(OVERLAP, loss=loss, feasible=feasible)
    comparator = solve(objective, chosen, within(FITTED), max_iterations=3000).comparator
    optimum = value(objective, _by_slsqp(objective, chosen))
    assert comparator.value - comparator.gap <= optimum + 1e-9
    assert comparator.value == pytest.approx(optimum, rel=1e-4)
    assert comparator.value >= optimum * (1 - 1e-4)


def _by_slsqp(objective: Objective, feasible: FeasibleSet) -> Point:
    """Minimise over x = p - q with p, q >= 0, where |x|_1 <= sum(p + q) is smooth."""
    shape, size = feasible.shape, feasible.size
    most = {
        "l1_ball": lambda z: RADIUS - z.sum(),
        "l2_ball": lambda z: RADIUS**2 - np.sum((z[:size] - z[size:]) ** 2),
        "box": lambda z: RADIUS - (z[:size] + z[size:]),
    }[feasible.name]

    def point(z: NDArray[np.float64]) -> Point:
        return np.asarray((z[:size] - z[size:]).reshape(shape))

    result = minimize(
        lambda z: objective.value(objective.logits(point(z))),
        np.full(2 * size, 1e-3),
        method="SLSQP",
        bounds=[(0, None)] * (2 * size),
        constraints={"type": "ineq", "fun": most},
        options={"maxiter": 500, "ftol": 1e-12},
    )
    return feasible.project(point(result.x))


def test_the_gradient_is_that_of_the_value() -> None:
    objective, chosen = make(OVERLAP)
    x = np.random.default_rng(0).normal(size=chosen.shape)
    for entry in np.ndindex(*chosen.shape):
        step = np.zeros(chosen.shape)
        step[entry] = 1e-6
        slope = (value(objective, x + step) - value(objective, x - step)) / 2e-6
        assert objective.gradient(objective.logits(x))[entry] == pytest.approx(slope, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("feasible", SETS)
def test_a_certificate_holds_wherever_the_search_is_stopped(feasible: str) -> None:
    objective, chosen = make(OVERLAP, feasible=feasible)
    best = solve(objective, chosen, within(FITTED), max_iterations=2000).comparator
    seen: list[Comparator] = []

    def watch(found: Comparator) -> bool:
        seen.append(found)
        return len(seen) == 30

    solve(objective, chosen, watch)
    values, lower = [found.value for found in seen], [found.value - found.gap for found in seen]
    assert values == sorted(values, reverse=True)
    assert all(earlier <= later + 1e-9 for earlier, later in pairwise(lower))
    assert all(low <= best.value + 1e-9 for low in lower)


@pytest.mark.parametrize("block", [7, 512])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_certificate_computed_anew_agrees(
    dtype: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparator, "BLOCK", block)
    objective, chosen = make(OVERLAP, dtype=dtype)
    found = solve(objective, chosen, within(1e-3))
    anew = certify(objective, chosen, found)
    rounding = 1e-12 if dtype == "float64" else 1e-5
    assert found.point.dtype == np.dtype(dtype)
    assert anew.value == pytest.approx(found.comparator.value, rel=rounding)
    assert anew.gap == pytest.approx(found.comparator.gap, abs=rounding * anew.value)
    exact, _ = make(OVERLAP)
    best = solve(exact, chosen, within(FITTED), max_iterations=2000).comparator
    assert anew.value - anew.gap - 1e-5 <= best.value <= anew.value + 1e-5


def test_a_false_certificate_is_found_out() -> None:
    objective, chosen = make(OVERLAP)
    found = solve(objective, chosen, within(1e-3))
    boast = Solution(chosen.start(), Comparator(0.1, 0.0), 1, chosen.start())
    honest = certify(objective, chosen, boast)
    assert honest.value == pytest.approx(value(objective, chosen.start()))
    assert honest.value - honest.gap <= found.comparator.value
    assert honest.gap > found.comparator.gap


def test_the_search_stops_when_it_is_told_to() -> None:
    objective, chosen = make(OVERLAP)
    assert solve(objective, chosen, lambda _: True).iterations == 1
    assert solve(objective, chosen, lambda _: False, max_iterations=17).iterations == 17
    loose, tight = (solve(objective, chosen, within(share)) for share in (1e-1, 1e-4))
    assert loose.iterations < tight.iterations < 500
    assert tight.comparator.gap <= 1e-4 * tight.comparator.value < loose.comparator.gap


def test_the_search_goes_on_from_where_it_was() -> None:
    objective, chosen = make(OVERLAP)
    far = solve(objective, chosen, within(1e-4))
    again = solve(objective, chosen, within(1e-3), start=far.point)
    assert again.comparator.value <= far.comparator.value
    assert again.iterations < solve(objective, chosen, within(1e-3)).iterations
