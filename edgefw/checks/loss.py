"""What every loss has to pass: each check takes a loss, and a seed for the batches it is tried on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgefw.checks.failure import close, require, same_bits
from edgefw.problem.loss import gradient, logits

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgefw.problem.loss import Loss

CLASSES, FEATURES = 5, 7
_STEP = 1e-5


def residual_is_the_derivative(loss: Loss, seed: int) -> None:
    """The residual is the derivative of the value, by finite differences."""
    Z, y = draw(loss, seed)
    numeric = np.empty_like(Z)
    for place in np.ndindex(Z.shape):
        nudge = np.zeros_like(Z)
        nudge[place] = _STEP
        numeric[place] = (loss.value(Z + nudge, y) - loss.value(Z - nudge, y)) / (2 * _STEP)
    close("residual and finite differences", loss.residual(Z, y), numeric, 1e-7)


def gradient_is_the_slope(loss: Loss, seed: int) -> None:
    """The gradient in the point is the slope along a line of points."""
    random = np.random.default_rng(seed)
    x, line = random.standard_normal((2, loss.outputs(CLASSES), FEATURES))
    A, y = random.standard_normal((4, FEATURES)), random.integers(0, CLASSES, 4)
    slope = np.vdot(gradient(loss.residual(logits(x, A), y), A), line)
    ahead, behind = (loss.value(logits(x + s * line, A), y) for s in (_STEP, -_STEP))
    close("slope and finite difference", slope, (ahead - behind) / (2 * _STEP), 1e-6)


def value_is_convex(loss: Loss, seed: int) -> None:
    """The value is convex: below its chords, above its tangents."""
    for scale in (0.01, 1.0, 100.0):
        Z, y = draw(loss, seed, scale=scale)
        other, _ = draw(loss, seed + 1, scale=scale)
        ends = float(loss.value(Z, y) + loss.value(other, y)) / 2
        middle = float(loss.value((Z + other) / 2, y))
        require(middle <= ends + 1e-12 * abs(ends), f"half-way it is {middle}, the mean of the ends {ends}")
        tangent = float(loss.value(Z, y) + np.vdot(loss.residual(Z, y), other - Z))
        there = float(loss.value(other, y))
        require(there >= tangent - 1e-12 * abs(ends), f"it is {there}, below the tangent's {tangent}")


def constants_are_bounds(loss: Loss, seed: int) -> None:
    """No gradient is longer than G, none changes faster than beta."""
    for scale in (0.01, 1.0, 10.0):
        random = np.random.default_rng(seed)
        A, y = random.standard_normal((3, FEATURES)), random.integers(0, CLASSES, 3)
        x, other = scale * random.standard_normal((2, loss.outputs(CLASSES), FEATURES))
        norms = [float(np.linalg.norm(point)) for point in (x, other)]
        G, beta = loss.constants(float(np.linalg.norm(A, axis=1).max()), max(norms), CLASSES)
        here, there = (gradient(loss.residual(logits(p, A), y), A) for p in (x, other))
        steepest = float(max(np.linalg.norm(here), np.linalg.norm(there)))
        require(steepest <= G * (1 + 1e-12), f"G is {G}, a gradient has norm {steepest}")
        change, apart = float(np.linalg.norm(here - there)), float(np.linalg.norm(x - other))
        require(
            change <= beta * apart * (1 + 1e-12), f"beta is {beta}, a gradient changes by {change / apart}"
        )


def types_are_kept(loss: Loss, seed: int) -> None:
    """Value and residual come in the type of the logits."""
    Z, y = draw(loss, seed, (2,))
    for dtype in (np.float32, np.float64):
        for name, method in (("value", loss.value), ("residual", loss.residual)):
            answer = method(Z.astype(dtype), y)
            require(answer.dtype == dtype, f"{name} answers in {answer.dtype}, given {np.dtype(dtype)}")
            close(f"{name} in {np.dtype(dtype)} and in float64", answer, method(Z, y), 1e-5)


def arguments_are_left_alone(loss: Loss, seed: int) -> None:
    """What is given is not written to."""
    Z, y = draw(loss, seed, (2,))
    before = Z.copy(), y.copy()
    loss.value(Z, y)
    loss.residual(Z, y)
    same_bits("logits before and after", Z, before[0])
    same_bits("labels before and after", y, before[1])


def stacks_are_batches_one_by_one(loss: Loss, seed: int) -> None:
    """A stack of batches is treated as each of them alone, whatever its shape; labels broadcast."""
    for lead in ((), (3,), (3, 2)):
        for batch in (1, 2, 9):
            Z, y = draw(loss, seed, lead, batch)
            value, residual = loss.value(Z, y), loss.residual(Z, y)
            require(value.shape == lead, f"value has shape {value.shape} for a stack of {lead}")
            require(residual.shape == Z.shape, f"residual has shape {residual.shape}, logits {Z.shape}")
            for place in np.ndindex(lead):
                close("value in a stack and alone", loss.value(Z[place], y[place]), value[place], 1e-12)
                alone = loss.residual(Z[place], y[place])
                close("residual in a stack and alone", alone, residual[place], 1e-12)
    Z, y = draw(loss, seed, (4, 3))
    whole = np.broadcast_to(y[0], y.shape)
    same_bits("values for labels that broadcast", loss.value(Z, y[0]), loss.value(Z, whole))
    same_bits("residuals for labels that broadcast", loss.residual(Z, y[0]), loss.residual(Z, whole))


def answers_repeat(loss: Loss, seed: int) -> None:
    """The same question has the same answer, bit for bit."""
    Z, y = draw(loss, seed)
    same_bits("two values", loss.value(Z, y), loss.value(Z.copy(), y))
    same_bits("two residuals", loss.residual(Z, y), loss.residual(Z.copy(), y))


CHECKS: tuple[Callable[[Loss, int], None], ...] = (
    residual_is_the_derivative,
    gradient_is_the_slope,
    value_is_convex,
    constants_are_bounds,
    types_are_kept,
    arguments_are_left_alone,
    stacks_are_batches_one_by_one,
    answers_repeat,
)


def draw(
    loss: Loss, seed: int, lead: tuple[int, ...] = (), batch: int = 4, scale: float = 3.0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return logits (lead, C, b) and labels (lead, b)."""
    random = np.random.default_rng(seed)
    Z = scale * random.standard_normal((*lead, loss.outputs(CLASSES), batch))
    return Z, random.integers(0, CLASSES, (*lead, batch))
