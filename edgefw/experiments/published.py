"""The numbers to compare with: those printed in the paper, and those that its settings lead to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SOURCE = "DelayMFW, the authors' published code (github.com/tuananhngh/DelayMFW)"

DEPARTURES: tuple[str, ...] = (
    "radius 24 in the distributed runs (text: 32)",
    "every class column has an l1 norm of at most the radius (text: the whole matrix)",
    "the loss of a batch is the mean over its samples (text: the sum)",
    "eta_k = 1/(k+3) (text: min(1, A/k))",
    "zeta = 1/sqrt(T), centralized 1/sqrt(d T) (text: 1/(G sqrt(B)))",
    "late agents have a constant delay of 501 (text: at most 501)",
    "late agents are drawn with replacement (text: f agents)",
    "centralized: FTPL's noise is centred, on [-1/2, 1/2], and fresh at every query (text: on [0, 1])",
    "centralized: delays are uniform on ceil(0.1 d)..d (text: random, at most d); K = 31",
)
"""Where the published runs are not what the paper's text says."""


def departures() -> str:
    """Return them as a paragraph of lines."""
    lines = "\n".join(f"  - {departure}" for departure in DEPARTURES)
    return f"The settings are those of {SOURCE}.\nThe paper's text has others:\n{lines}"


HORIZON = 1000
LATE = 501  # the constant delay of a delayed agent, in rounds: feedback of round s arrives in round s + 500
MAX_DELAYS = (1, 21, 41, 61, 81, 101)  # d of the centralized experiment; 1 is no delay
DELAYED = (0, 2, 5, 10, 20)  # f of the distributed experiment

GRAPHS: Mapping[str, str] = {
    "erdos_renyi": "Erdos-Renyi",
    "grid": "Grid",
    "complete": "Complete",
    "cycle": "Cycle",
}

TOTALS_2: Mapping[str, Mapping[int, float]] = {
    "erdos_renyi": {0: 809.37, 2: 820.15, 5: 834.74, 10: 838.74, 20: 850.49},
    "grid": {0: 855.62, 2: 852.15, 5: 868.52, 10: 878.04, 20: 902.30},
    "complete": {0: 799.49, 2: 798.79, 5: 802.59, 10: 792.45, 20: 812.21},
    "cycle": {0: 925.72, 2: 932.34, 5: 971.24, 10: 983.89, 20: 1119.24},
}
"""Total loss on Fashion-MNIST by graph and f (Table 2)."""

TOTALS_2_CHANGE: Mapping[str, Mapping[int, float]] = {
    "erdos_renyi": {2: 1.3, 5: 3.0, 10: 3.5, 20: 4.9},
    "grid": {2: -0.4, 5: 1.4, 10: 2.5, 20: 5.3},
    "complete": {2: -0.08, 5: 0.3, 10: -0.8, 20: 1.5},
    "cycle": {2: 0.7, 5: 4.7, 10: 6.0, 20: 18.9},
}
"""The percentages printed beside them: 200 (a - a0)/(a + a0), a0 the total loss without delay."""

TOLERANCE_2: Mapping[str, float] = {"erdos_renyi": 4.0, "grid": 2.0, "complete": 2.0, "cycle": 2.0}
"""How near f = 0 has to come, in percent. The paper's Erdos-Renyi graph is one draw that is not published."""

TOLERANCE_2_LATE = 5.0  # percent, for f > 0: which agents were late is one draw that is not published

CENTRALIZED: Mapping[str, Mapping[int, float]] = {
    "delmfw": {1: 1025, 21: 1146, 101: 1300},
    "dofw": {1: 1184, 21: 1617, 101: 1900},
    "bold-mfw": {1: 1025, 21: 1649, 101: 2159},
}
"""Total loss on MNIST by algorithm and d: the paper's settings run independently (it prints curves only)."""

TOLERANCE_CENTRALIZED = 5.0  # percent


@dataclass(frozen=True)
class Printed:
    """What the paper says of an algorithm; `projection_free` is None where it does not say."""

    projection_free: bool | None
    regret: str
    source: str  # "Table 1", or "text" for what stands in its prose alone


TABLE_1: Mapping[str, Printed] = {
    "dgd": Printed(projection_free=False, regret="O(sqrt(d T))", source="Table 1"),
    "dofw": Printed(projection_free=True, regret="O(T^(3/4) + d T^(1/4))", source="Table 1"),
    "delmfw": Printed(projection_free=True, regret="O(sqrt(d T))", source="Table 1"),
    "mfw": Printed(projection_free=None, regret="O(sqrt(T)), d = 1", source="text"),
    "bold-mfw": Printed(projection_free=None, regret="-", source="-"),
    "de2mfw": Printed(projection_free=True, regret="O(sqrt(d T))", source="Table 1"),
    "distributed-dgd": Printed(projection_free=None, regret="O(sqrt(d T)), fixed d", source="text"),
}
