"""The story of a run from its folder, whether it has ended or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgefw.page.story import Story
from edgefw.scenario.load import load
from edgefw.scenario.plan import delay_plan, timed

if TYPE_CHECKING:
    from edgefw.records import RunFolder
    from edgefw.scenario.model import Scenario


def read_scenario(folder: RunFolder) -> Scenario:
    """Return the scenario of a run."""
    folder.require()
    return load(str(folder.scenario_path))


def read_story(folder: RunFolder, scenario: Scenario, *, live: bool = False) -> Story:
    """Return the story that a run folder tells; `live` if it goes on."""
    account = folder.account()
    story = Story(scenario, accounted=live or bool(account))
    story.take_account(account)
    planned = None if story.accounted or _unplanned(scenario) else delay_plan(scenario).table()
    for t, played in enumerate(folder.by_round(folder.rows(), story.n), start=1):
        losses, arrivals = np.array([row.global_loss for row in played]), [row.arrivals for row in played]
        story.take_round(losses, arrivals, [row.outstanding for row in played])
        if planned is not None:
            story.take_planned(planned, t, arrivals)
    if planned is not None:
        story.happenings.foretell(story.rounds)
    if (fixed := folder.comparator()) is not None:
        story.compare_with(fixed)
    return story


def _unplanned(scenario: Scenario) -> bool:
    """Whether nobody can say in which rounds the plan does what."""
    return scenario.pace == "asap" and bool(timed(scenario))
