"""All that the report of a run is made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgefw.errors import InputError, RecordError
from edgefw.experiments.experiment import Claim
from edgefw.history import History, gather
from edgefw.page.folder import read_scenario, read_story
from edgefw.reports.prompt import prompt_losses
from edgefw.verification.folder import check_folder
from edgefw.verification.verdict import refused

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgefw.page.story import Story
    from edgefw.records import RunFolder, Summary
    from edgefw.scenario.model import Scenario

LATE = 1.5  # rounds on the way, on average, from which on an agent is called late: 1 is no delay
CLAIM = "The record is what happened: replayed from its arrivals, every play is the same, bit for bit"


@dataclass(frozen=True, eq=False)
class Told:
    """A run that is over, or was cut short; all arrays are (rounds, n)."""

    folder: RunFolder
    scenario: Scenario
    summary: Summary | None  # None of a run that was killed
    history: History
    story: Story
    prompt: NDArray[np.float64] | None  # F_t(x_t^i), had nobody been late; None where that is not known
    why_not: str | None  # ... and why
    verdict: Claim

    @cached_property
    def simulated(self) -> bool:
        """Whether it was played as arrays, so that there are no plays on record."""
        return is_simulated(self.folder)

    @property
    def rounds(self) -> int:
        """How many were played."""
        return len(self.history.loss)

    @cached_property
    def waits(self) -> NDArray[np.float64]:
        """Rounds that a feedback of each agent was on its way, on average, (n,): B_i / T."""
        return np.asarray(self.history.total_delay[-1] / self.rounds)

    @cached_property
    def late(self) -> list[int]:
        """The agents that were late, the latest first."""
        order = np.argsort(-self.waits, kind="stable")
        return [int(i) for i in order if self.waits[i] >= LATE]

    @cached_property
    def cost(self) -> float | None:
        """What late feedback cost in network regret.

        The best fixed point is the same with and without delays, so it is not needed to know the difference:
        max_i sum_t F_t(x_t^i), less the same of the run without delays.
        """
        if self.prompt is None:
            return None
        return float(self.history.loss.sum(axis=0).max() - self.prompt.sum(axis=0).max())

    @property
    def regret(self) -> float | None:
        """The network regret, where it is known."""
        return None if self.summary is None else self.summary.network_regret


def tell(folder: RunFolder, *, verify: bool) -> Told:
    """Read a run, simulate it without delays, and replay it if asked to."""
    scenario = read_scenario(folder)
    n = scenario.network.agents
    history = gather(folder.by_round(folder.rows(), n), n, folder.comparator())
    if not len(history.loss):
        raise InputError(f"{folder.path} has no round that all agents played: there is nothing to report")
    prompt, why_not = None, None
    try:
        prompt = _without_delays(folder, scenario, history)
    except InputError as error:
        why_not = str(error)
    return Told(
        folder=folder,
        scenario=scenario,
        summary=folder.summary(),
        history=history,
        story=read_story(folder, scenario),
        prompt=prompt,
        why_not=why_not,
        verdict=_checked(folder) if verify else Claim(CLAIM, None, "this was not asked for"),
    )


def _without_delays(folder: RunFolder, scenario: Scenario, history: History) -> NDArray[np.float64]:
    rounds = len(history.loss)
    nobody_late = bool((history.total_delay[-1] == rounds).all())
    return history.loss if nobody_late else prompt_losses(folder, scenario, rounds)


def is_simulated(folder: RunFolder) -> bool:
    """Whether a folder says that its run was played as arrays."""
    return folder.meta().get("mode") == "simulate"


def _checked(folder: RunFolder) -> Claim:
    """Replay the run; what speaks against the record is part of the report, not its end."""
    if is_simulated(folder):
        return Claim(CLAIM, None, "a simulated run is a function of its scenario: simulate it again")
    try:
        found = check_folder(folder)
    except RecordError as error:
        return Claim(CLAIM, False, str(error))
    except InputError as error:
        return Claim(CLAIM, None, str(error))
    holds = True if found.passed else None if found.refusal is None else False
    said = [*found.lines(), *([] if found.refusal is None else [refused(folder.path, found.refusal)])]
    return Claim(CLAIM, holds, "; ".join(said))
