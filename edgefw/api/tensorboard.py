"""A run for TensorBoard: its curves as an event file."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edgefw.api.curves import curves
from edgefw.errors import InputError
from edgefw.scenario.load import dump

if TYPE_CHECKING:
    import os

    from edgefw.api.run import Run


def write_tensorboard(run: Run, folder: str | os.PathLike[str]) -> Path:
    """Write the curves and the scenario; in TensorBoard the folder is the run's name."""
    if find_spec("tensorboardX") is None:
        raise InputError(
            "TensorBoard needs tensorboardX: install edgefw[tensorboard] (pip install 'edgefw[tensorboard]')"
        )
    from tensorboardX import SummaryWriter  # noqa: PLC0415 - an extra

    place = Path(folder)
    if next(place.glob("events.out.tfevents.*"), None) is not None:
        raise InputError(f"{place} holds another export: TensorBoard would mix the two; give a new folder")
    with SummaryWriter(str(place), write_to_disk=True) as writer:
        writer.add_text("scenario", f"```yaml\n{dump(run.scenario)}```")
        for name, values in curves(run).items():
            for t in np.flatnonzero(np.isfinite(values)):
                writer.add_scalar(name, values[t], int(t) + 1)
    return place
