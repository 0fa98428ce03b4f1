"""Losses of linear models: functions of the logits Z = x A^T alone, whose gradient in x is R A.

A point x is (C, m), a batch has features A (b, m) and labels y (b,): classes, as whole numbers, or real
targets. Z and the residuals R are of shape (..., C, b), y of shape (..., b); the leading axes of y may be
fewer: they broadcast to those of Z.
Values and residuals come in the floating type of Z.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from edgefw.errors import InputError, unknown
from edgefw.plugins import Registry, check_params, subclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from edgefw.problem.dataset import Dataset

Real: TypeAlias = NDArray[np.floating[Any]]
Labels: TypeAlias = NDArray[Any]
"""Classes, as whole numbers, or real targets."""


class Constants(NamedTuple):
    """What the theorems ask of f(x), in Frobenius norm: |grad f| <= G, and grad f is beta-Lipschitz."""

    G: float
    beta: float


class Loss(ABC):
    """The mean over a batch of a convex function of one logit column and one label."""

    name: ClassVar[str]
    slope: ClassVar[float]
    """The largest norm of the residual of a single example."""
    curvature: ClassVar[float]
    """The largest eigenvalue of the Hessian of a single example in its logits."""

    takes_real: ClassVar[bool] = False
    """Whether a label may be any number; otherwise it is a class."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @classmethod
    def fitted(cls, params: Mapping[str, Any], data: Dataset) -> Mapping[str, Any]:
        """Return the parameters as this data has them; refuse data that the loss cannot use."""
        if data.is_real and not cls.takes_real:
            raise InputError(
                f"problem.loss is for classes, and {data.name} has real targets: use squared, or "
                "data.targets=classes"
            )
        return params

    def outputs(self, classes: int) -> int:  # noqa: ARG002 - only the multinomial loss has one row a class
        """Return C, the number of rows of a point, for data of so many classes."""
        return 1

    @abstractmethod
    def value(self, Z: Real, y: Labels) -> Real:
        """Return the mean loss over the batch, shape (...)."""

    @abstractmethod
    def residual(self, Z: Real, y: Labels) -> Real:
        """Return R = d value / dZ, shape (..., C, b); the 1/b of the mean is in it."""

    def constants(
        self,
        max_norm: float,
        max_point_norm: float,  # noqa: ARG002 - only the squared loss is steeper farther out
        spread: float,  # noqa: ARG002
    ) -> Constants:
        """Return G and beta where |a| <= max_norm for features, |x| <= max_point_norm, |y| <= spread - 1."""
        return Constants(self.slope * max_norm, self.curvature * max_norm**2)


class Multinomial(Loss):
    """Cross-entropy of the softmax, log(sum_c exp z_c) - z_y, labels 0..C-1. G = sqrt(2) |a|, beta = |a|^2/2.

    >>> Multinomial().value(np.zeros((4, 3)), np.array([0, 1, 3])).item() == math.log(4)
    True
    """

    name = "multinomial"
    slope = math.sqrt(2)
    curvature = 0.5

    def outputs(self, classes: int) -> int:
        """Return C = classes."""
        return classes

    def value(self, Z: Real, y: Labels) -> Real:
        """Return the mean cross-entropy over the batch, shape (...)."""
        shifted = _classes_first(Z)
        return _cross_entropy(shifted, _total(np.exp(shifted)), _hot(y, Z.shape))

    def residual(self, Z: Real, y: Labels) -> Real:
        """Return (softmax(Z) - onehot(y)) / b, shape (..., C, b)."""
        p = _classes_first(Z)
        np.exp(p, out=p)
        return _softmax_residual(p, _total(p), _hot(y, Z.shape))


class BinaryLogistic(Loss):
    """Some classes against all others: log(1 + exp(-s z)), s = 1 for the positive ones, -1 for others.

    Without `positive`, odd classes are set against even ones. G = |a|, beta = |a|^2 / 4.

    >>> BinaryLogistic().residual(np.zeros((1, 2)), np.array([4, 7])).tolist()
    [[0.25, -0.25]]
    """

    name = "binary_logistic"
    slope = 1.0
    curvature = 0.25

    def __init__(self, positive: Sequence[int] | None = None) -> None:
        self._positive = None if positive is None else np.array(sorted(positive), dtype=np.int64)

    @classmethod
    def fitted(cls, params: Mapping[str, Any], data: Dataset) -> Mapping[str, Any]:
        """Return `positive` as numbers of classes; classes that have names have no odd and even."""
        given = super().fitted(params, data).get("positive")
        if given is None and len(data.names) > 2:
            raise InputError(
                f"problem.loss binary_logistic: {data.name} has the classes {', '.join(data.names)}: "
                "say which are the positive ones, as problem.loss_params={positive: [...]}"
            )
        if given is None:
            return params
        known = data.names or tuple(str(c) for c in range(data.classes))
        for name in given if isinstance(given, list) else ():
            if str(name) not in known:
                raise InputError(f"problem.loss_params.positive: {unknown('class', str(name), known)}")
        if not isinstance(given, list) or not 0 < len({str(name) for name in given}) < len(known):
            raise InputError(
                f"problem.loss_params.positive is {given}: it must be a list of some, not all, of the "
                f"classes {', '.join(known)}"
            )
        return {**params, "positive": sorted({known.index(str(name)) for name in given})}

    def value(self, Z: Real, y: Labels) -> Real:
        """Return the mean logistic loss over the batch, shape (...)."""
        return np.asarray(np.logaddexp(0, self._against(y, Z) * Z)[..., 0, :].mean(-1))

    def residual(self, Z: Real, y: Labels) -> Real:
        """Return -s / (1 + exp(s z)) / b, shape (..., 1, b)."""
        against = self._against(y, Z)
        return np.asarray(against * np.exp(-np.logaddexp(0, -against * Z)) / Z.shape[-1])

    def _against(self, y: Labels, Z: Real) -> Real:
        """Return -s as (..., 1, b) in the type of Z."""
        labels = y[..., None, :]
        positive = labels % 2 if self._positive is None else np.isin(labels, self._positive).astype(np.int64)
        return np.asarray(1 - 2 * positive).astype(Z.dtype)


class Squared(Loss):
    """The label as a number, by least squares: (z - y)^2 / 2. beta = |a|^2, G = |a| (|a| |x| + max |y|).

    >>> Squared().value(np.array([[1.0, 5.0]]), np.array([1, 3])).item()
    1.0
    """

    name = "squared"
    slope = math.inf
    curvature = 1.0
    takes_real = True

    def value(self, Z: Real, y: Labels) -> Real:
        """Return the mean of (z - y)^2 / 2 over the batch, shape (...)."""
        return np.asarray(np.square(self._error(Z, y))[..., 0, :].mean(-1) / 2)

    def residual(self, Z: Real, y: Labels) -> Real:
        """Return (z - y) / b, shape (..., 1, b)."""
        return np.asarray(self._error(Z, y) / Z.shape[-1])

    def constants(self, max_norm: float, max_point_norm: float, spread: float) -> Constants:
        """Return G and beta on the set of points with |x| <= max_point_norm, where |z - y| is bounded."""
        error = max_norm * max_point_norm + spread - 1
        return Constants(max_norm * error, self.curvature * max_norm**2)

    @staticmethod
    def _error(Z: Real, y: Labels) -> Real:
        return np.asarray(Z - y[..., None, :].astype(Z.dtype))


LOSSES: Registry[type[Loss]] = Registry(
    "loss",
    "edgefw.losses",
    {kind.name: kind for kind in (Multinomial, Squared, BinaryLogistic)},
    subclass("loss", Loss),  # type: ignore[type-abstract]
)

NAMES = tuple(LOSSES)


def make_loss(name: str, params: Mapping[str, Any] | None = None) -> Loss:
    """Return the loss called `name`, with the parameters that its class takes."""
    kind, given = LOSSES[name], params or {}
    check_params("problem.loss_params", kind, given, given=0)
    return kind(**given)


def logits(x: Real, A: Real) -> Real:
    """Return Z = x A^T, (..., C, b), of points x (..., C, m) on features A (..., b, m)."""
    return np.asarray(x @ A.swapaxes(-1, -2))


def gradient(R: Real, A: Real) -> Real:
    """Return the gradient R A, (..., C, m), from residuals R (..., C, b) and features A (..., b, m)."""
    return np.asarray(R @ A)


def _classes_first(Z: Real) -> Real:
    """Return Z (..., C, b) minus its largest logits as a new contiguous array, the classes its first axis.

    Sums over the first axis add whole rows, where sums over the axis before the last would go by runs of b
    entries: a residual for b = 2 takes half the time.
    """
    first = Z.swapaxes(0, -2).copy()
    first -= np.maximum.reduce(first, axis=0)
    return first


def _hot(y: Labels, shape: Sequence[int]) -> NDArray[np.bool_]:
    """Return where (class = label) for logits of `shape`, laid out as by `_classes_first`."""
    y = y.reshape((1,) * (len(shape) - 1 - y.ndim) + y.shape)
    classes = np.arange(shape[-2]).reshape(-1, *(1,) * (len(shape) - 1))
    return np.asarray(y[..., None, :].swapaxes(0, -2) == classes)


def _total(p: Real) -> Real:
    """Return the sum of p (C, ...) over the classes, added in order of class.

    numpy would add a lone column pairwise: a batch of one would round differently alone than among others.
    """
    return np.asarray(np.add.accumulate(p)[-1] if p.size == len(p) else np.add.reduce(p))


def _cross_entropy(shifted: Real, total: Real, hot: NDArray[np.bool_]) -> Real:
    """Return the mean over the batch of log(total) - shifted[y], (...); `total` sums the exponentials."""
    each = np.log(total) - np.add.reduce(shifted * hot, axis=0)
    return np.asarray(each[None].swapaxes(0, -2)[..., 0, :].mean(-1))


def _softmax_residual(p: Real, total: Real, hot: NDArray[np.bool_]) -> Real:
    """Turn exponentials p, in place, into (p / total - hot) / b with the axes back in order, (..., C, b)."""
    p /= total
    p -= hot
    p *= 1 / p.shape[-1]
    return p.swapaxes(0, -2)
