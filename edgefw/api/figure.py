"""The figure of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgefw.experiments.plots import Drawing, Line, Panel, draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from edgefw.api.run import Run
    from edgefw.history import Counts, Numbers


def draw_run(run: Run) -> Figure:
    """Return loss, regret (where it is known) and outstanding feedback, side by side."""
    panels = [_panel("loss", "F_t(x_t)", run.loss, 0)]
    if run.regret is not None:
        panels.append(_panel("regret", "at least", run.regret, 1))
    panels.append(_panel("feedback on its way", "outstanding", run.outstanding, 2, from_zero=True))
    name = run.scenario.name
    return draw(Drawing(name, panels, f"{name}, seed {run.scenario.seed}: mean and range over agents"))


def _panel(
    title: str, y_label: str, values: Numbers | Counts, colour: int, *, from_zero: bool = False
) -> Panel:
    rounds = np.arange(1.0, len(values) + 1)
    line = Line(title, rounds, np.asarray(values.T, np.float64), colour)
    return Panel(title, "round", y_label, [line], whole_x=True, from_zero=from_zero)
