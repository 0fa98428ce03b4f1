"""A run, simulated or emulated: what was asked for and what came of it, as numbers and figures."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from edgefw.api.tables import columns, write_csv, write_parquet
from edgefw.errors import InputError
from edgefw.history import Counts, History, Numbers, frame, gather
from edgefw.page.folder import read_scenario
from edgefw.records import RunFolder, Summary
from edgefw.verification.folder import check_folder

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from matplotlib.figure import Figure
    from pandas import DataFrame

    from edgefw.scenario.model import Scenario
    from edgefw.verification.verdict import Verdict


class Run:
    """A run of T rounds and n agents. Arrays are (T, n): round t in row t - 1, agent i in column i.

    Those of a run that has a folder are read from it when the first is asked for.
    """

    scenario: Scenario
    path: Path | None  # its folder; None of a simulation that was not written

    def __init__(
        self, scenario: Scenario, path: Path | None, summary: Summary | None, history: Callable[[], History]
    ) -> None:
        self.scenario, self.path, self._summary, self._read = scenario, path, summary, history

    def __repr__(self) -> str:
        where = "in memory" if self.path is None else str(self.path)
        return f"<edgefw.Run {self.scenario.name}, seed {self.scenario.seed}, {where}>"

    @property
    def summary(self) -> Summary:
        """The content of summary.json: totals of the run and of every agent."""
        if self._summary is None:
            raise InputError(f"{self.path} has no summary: the run goes on, or was killed; arrays are there")
        return self._summary

    @property
    def loss(self) -> Numbers:
        """F_t(x_t^i): of every play, on the batches of all agents, (T, n)."""
        return self._history.loss

    @property
    def local_loss(self) -> Numbers:
        """f_t^i(x_t^i): of every play, on the agent's own batch, (T, n)."""
        return self._history.local_loss

    @property
    def regret(self) -> Numbers | None:
        """The sum over s <= t of F_s(x_s^i) - F_s(x*), (T, n); None where no x* is on record.

        x* is the best fixed point of the whole run: the regret after round t is at least this.
        """
        return self._history.regret

    @property
    def delay(self) -> Numbers:
        """Rounds that the feedback of round t took, (T, n): 1 is none, NaN where no play has used it."""
        return self._history.delay

    @property
    def outstanding(self) -> Counts:
        """Feedbacks submitted up to round t that had not come, and were not known to be dropped, (T, n)."""
        return self._history.outstanding

    @property
    def total_delay(self) -> Counts:
        """B_i after round t, (T, n): the sum over s <= t of the feedbacks on their way in round s."""
        return self._history.total_delay

    def to_frame(self) -> DataFrame:
        """Return a pandas.DataFrame with a row for every round and agent; NaN where regret is not known."""
        return frame(columns(self))

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write the rows of `to_frame` to a CSV file, empty where a number is not known; return its path."""
        return write_csv(self, path)

    def to_parquet(self, path: str | os.PathLike[str]) -> Path:
        """Write the rows of `to_frame` to a Parquet file; return its path."""
        return write_parquet(self, path)

    def to_tensorboard(self, folder: str | os.PathLike[str]) -> Path:
        """Write an event file for TensorBoard to a new folder: the network's curves and every agent's."""
        from edgefw.api.tensorboard import write_tensorboard  # noqa: PLC0415 - most runs are not exported

        return write_tensorboard(self, folder)

    def to_mlflow(self, url: str, experiment: str = "edgefw") -> str:
        """Send scenario, totals and curves to a server of MLflow; return where it shows them."""
        from edgefw.api.mlflow import send_mlflow  # noqa: PLC0415 - most runs are not exported

        return send_mlflow(self, url, experiment)

    def plot(self) -> Figure:
        """Return a matplotlib figure: loss, regret and outstanding feedback, mean and range over agents."""
        from edgefw.api.figure import draw_run  # noqa: PLC0415 - most runs are not drawn

        return draw_run(self)

    def verify(self) -> Verdict:
        """Replay an emulated run; return the verdict if every play is the same, bit for bit.

        Raises RecordError where the record is not true, UnverifiedError where not all could be checked.
        """
        if self.path is None:
            raise InputError("a simulation has no plays on record: simulate its scenario again to compare")
        verdict = check_folder(RunFolder(self.path))
        verdict.require(self.path)
        return verdict

    @cached_property
    def _history(self) -> History:
        return self._read()


def load_run(path: str | os.PathLike[str]) -> Run:
    """Return the run in a folder: simulated, emulated, or collected from containers."""
    folder = RunFolder(Path(path))
    scenario = read_scenario(folder)
    return Run(scenario, folder.path, folder.summary(), lambda: _history_of(folder, scenario))


def _history_of(folder: RunFolder, scenario: Scenario) -> History:
    n = scenario.network.agents
    return gather(folder.by_round(folder.rows(), n), n, folder.comparator())
