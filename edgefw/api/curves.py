"""The curves of a run by name, for programs that keep curves of many runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgefw.api.tables import COLUMNS

if TYPE_CHECKING:
    from edgefw.api.run import Run
    from edgefw.history import Numbers


def curves(run: Run) -> dict[str, Numbers]:
    """Return curves over rounds, (T,) each: of the network (its largest loss and regret), of every agent.

    There is NaN where a number is not known.
    """
    found = {"network/loss": run.loss.max(axis=1)}
    if run.regret is not None:
        found["network/regret"] = run.regret.max(axis=1)
    for name in COLUMNS:
        values = getattr(run, name)
        if values is not None:
            found |= {
                f"{name}/agent-{i}": np.asarray(values[:, i], np.float64) for i in range(values.shape[1])
            }
    return found
