"""How plays score: loss on everybody's batches, regret against a fixed point, distance from consensus. Pure.

Regret while a run is under way is measured against the best point of the *whole* horizon,

    regret_i(t) = sum over s <= t of F_s(x_s^i) - F_s(x*),

which is at most the regret against the best point of rounds 1..t: the regret so far is *at least* this. The
gap certifies x* over the horizon, so it says nothing of the regret before the last round; then the regret
lies in [regret, regret + gap].
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgefw.core.messages import Score
from edgefw.core.regret import Comparator, global_losses
from edgefw.errors import WireError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from edgefw.problem.feasible.base import Real
    from edgefw.scenario.setup import Setup

_FAR_OUT = 1000.0  # times the set's largest norm: a play that is out by less is scored, and named
_LARGEST_LOGIT = 1e15


@dataclass(frozen=True, eq=False)
class RoundScore:
    """A round that all agents have played."""

    t: int
    global_loss: NDArray[np.float64]  # F_t(x_t^i), (n,)
    consensus: float  # max_i |x_t^i - mean_j x_t^j|
    outside: tuple[int, ...]  # agents whose play is not in the feasible set


@dataclass(frozen=True, eq=False)
class Certificate:
    """A fixed point over the first rounds: its certified comparator, and F_t at it, (rounds,)."""

    comparator: Comparator
    losses: NDArray[np.float64]
    final: bool = False  # asked for by the end of the run, not on the way

    def to_line(self) -> str:
        """Return the certificate as a line of JSON."""
        found, losses = self.comparator, self.losses.tolist()
        return json.dumps({"value": found.value, "gap": found.gap, "losses": losses, "final": self.final})

    @classmethod
    def from_line(cls, line: bytes, rounds: int) -> Certificate:
        """Return the certificate of a line, over at most so many rounds; a WireError if it is none."""
        try:
            fields = json.loads(line)
            found = Comparator(float(fields["value"]), float(fields["gap"]))
            losses, final = np.array(fields["losses"], dtype=np.float64), bool(fields["final"])
        except (ValueError, TypeError, KeyError, OverflowError) as error:  # cut off, or something else
            raise WireError("certificate", f"{type(error).__name__}: {error}") from None
        if losses.ndim != 1 or not 1 <= len(losses) <= rounds:
            raise WireError("certificate", f"losses of shape {losses.shape} in {rounds} rounds")
        if not np.isfinite([found.value, found.gap, *losses]).all():
            raise WireError("certificate", "a number is not finite")
        return cls(found, losses, final)


def score_round(setup: Setup, t: int, points: Sequence[Real]) -> RoundScore:
    """Score the plays of round t, one point (C, m) an agent, in the agents' order."""
    features, labels = setup.batches(t)
    inside = setup.feasible.contains(np.stack(points))
    return RoundScore(
        t,
        global_losses(setup.loss, points, features, labels),
        consensus_distance(points),
        tuple(np.flatnonzero(~inside).tolist()),
    )


def largest_play(setup: Setup) -> float:
    """Return the norm above which a play is not scored: far out of the set, or its loss might overflow.

    A logit is at most this times the largest norm of a sample: its square, added up, is still a float32.
    """
    return min(_FAR_OUT * setup.feasible.max_norm, _LARGEST_LOGIT / max(setup.dataset.max_norm(), 1.0))


def consensus_distance(points: Sequence[Real]) -> float:
    """Return max_i |x^i - mean_j x^j|, in Euclidean norm.

    >>> consensus_distance([np.array([[0.0, 3.0]]), np.array([[0.0, -3.0]])])
    3.0
    """
    x = np.stack(points).reshape(len(points), -1).astype(np.float64)
    return float(np.linalg.norm(x - x.mean(axis=0), axis=1).max())


class Scoreboard:
    """The scores of all rounds so far, of n agents."""

    def __init__(self, n: int, rounds: int) -> None:
        self._losses = np.empty((rounds, n))
        self._cumulative = np.zeros((rounds + 1, n))
        self.total_loss = 0.0  # the sum of the network losses
        self._fixed: NDArray[np.float64] | None = None  # sums of F_s(x*) over s <= t, (rounds + 1,)
        self.gap: float | None = None  # how far it may be from the best one, over the rounds it is for
        self.rounds = 0

    @property
    def losses(self) -> NDArray[np.float64]:
        """F_t(x_t^i), (rounds so far, n)."""
        return self._losses[: self.rounds]

    @property
    def network_loss(self) -> float:
        """max_i F_t(x_t^i) of the last round."""
        return float(self._losses[self.rounds - 1].max()) if self.rounds else 0.0

    @property
    def worst_loss(self) -> float:
        """The largest cumulative loss of an agent."""
        return float(self._cumulative[self.rounds].max())

    @property
    def network_regret(self) -> float | None:
        """What the largest regret of an agent is at least, once there is a fixed point to compare with."""
        fixed = self._fixed_sum(self.rounds)
        return None if fixed is None else self.worst_loss - fixed

    @property
    def compared_rounds(self) -> int:
        """The rounds that the fixed point was sought for; where all are played, the gap bounds the regret."""
        return 0 if self._fixed is None else len(self._fixed) - 1

    def add(self, global_loss: NDArray[np.float64]) -> None:
        """Add the next round's F_t(x_t^i), (n,)."""
        t = self.rounds
        self._losses[t] = global_loss
        self._cumulative[t + 1] = self._cumulative[t] + global_loss
        self.total_loss += float(global_loss.max())
        self.rounds += 1

    def compare_with(self, certificate: Certificate) -> None:
        """Measure regret against this fixed point from now on."""
        self._fixed = np.concatenate([[0.0], np.cumsum(certificate.losses)])
        self.gap = certificate.comparator.gap

    def score(self, agent: int, t: int) -> Score:
        """Return what is known of an agent's play of round t, which has been added."""
        cumulative = float(self._cumulative[t, agent])
        fixed = self._fixed_sum(t)
        regret = None if fixed is None else cumulative - fixed
        gap = self.gap if t == self.compared_rounds else None
        return Score(t, float(self._losses[t - 1, agent]), cumulative, regret, gap)

    def _fixed_sum(self, t: int) -> float | None:
        return None if self._fixed is None or t >= len(self._fixed) else float(self._fixed[t])
