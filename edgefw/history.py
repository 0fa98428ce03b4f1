"""What happened in a run, as arrays: one row a round, one column an agent."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgefw.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pandas import DataFrame

    from edgefw.records import PlayRow

Numbers = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class History:
    """A run of T rounds and n agents: all (T, n), round t in row t - 1."""

    loss: Numbers  # F_t(x_t^i)
    local_loss: Numbers  # f_t^i(x_t^i)
    regret: Numbers | None  # sum over s <= t of F_s(x_s^i) - F_s(x*); None where no x* is on record
    delay: Numbers  # of the feedback of round t, in rounds
    outstanding: Counts  # feedbacks submitted that had not come, and were not known to be dropped
    total_delay: Counts  # B_i so far


def gather(rounds: Iterable[Sequence[PlayRow]], n: int, fixed: Numbers | None) -> History:
    """Return the history that the rows of n agents tell; `fixed` is F_t(x*) of the best fixed point, (T,)."""
    plays = [row for rows in rounds for row in rows]

    def column(name: str) -> Numbers:
        return np.array([getattr(row, name) for row in plays], dtype=np.float64).reshape(-1, n)

    loss, local = column("global_loss"), column("local_loss")
    delay, came = np.full(loss.shape, np.nan), np.zeros(loss.shape, dtype=np.int64)
    for row in plays:
        came[row.round - 1, row.agent] = len(row.arrivals)
        for s in row.arrivals:
            delay[s - 1, row.agent] = row.round - s
    on_their_way = np.cumsum(1 - came, axis=0)
    return History(
        loss=loss,
        local_loss=local,
        regret=_regret(loss, fixed),
        delay=delay,
        outstanding=column("outstanding").astype(np.int64),
        total_delay=np.cumsum(on_their_way, axis=0),
    )


def frame(columns: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> DataFrame:
    """Return columns, or rows, as a pandas.DataFrame."""
    if find_spec("pandas") is None:
        raise InputError("a frame needs pandas: install edgefw[frames] (pip install 'edgefw[frames]')")
    import pandas as pd  # noqa: PLC0415 - it may not be there

    return pd.DataFrame(columns)


def _regret(loss: Numbers, fixed: Numbers | None) -> Numbers | None:
    """Return the regret after every round; NaN from where on the fixed point's loss is not known."""
    if fixed is None:
        return None
    known = np.full(len(loss), np.nan)
    known[: len(fixed)] = fixed[: len(loss)]
    return np.cumsum(loss - known[:, None], axis=0)
