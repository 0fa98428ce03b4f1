"""The helper of the page: it draws the figures, and plays the same run without delays beside the real one.

It waits until somebody looks, and takes no time before.
"""

from __future__ import annotations

import json
import signal
import sys
from typing import TYPE_CHECKING

from edgefw.services.machine import be_helper

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from edgefw.scenario.model import Scenario

DRAW = "draw"
NICE = 10  # rounds come first


class PageDrawer:
    """Draws the page of the scenario in a file, and plays it without delays as far as it is asked to."""

    def __init__(self, scenario_path: str) -> None:
        self._scenario_path = scenario_path
        self._prompt: Iterator[NDArray[np.float64]] | None = None
        self._played = 0

    def begin(self) -> Iterator[str]:
        """Do nothing unasked."""
        return iter(())

    def answer(self, request: str) -> Iterator[str]:
        """Draw (DRAW), or play up to a round (its number); what that needs is loaded now."""
        from edgefw.scenario.load import load  # noqa: PLC0415

        scenario = load(self._scenario_path)
        if request.strip() == DRAW:
            from edgefw.page.prepare import prepared_line  # noqa: PLC0415

            yield prepared_line(scenario)
        else:
            yield self._play(scenario, int(request))

    def _play(self, scenario: Scenario, rounds: int) -> str:
        """Return the losses of the next rounds, up to this one, had nobody been late, a line of JSON."""
        from edgefw.prompt import prompt_rounds  # noqa: PLC0415

        self._prompt = prompt_rounds(scenario) if self._prompt is None else self._prompt
        losses = [next(self._prompt).tolist() for _ in range(rounds - self._played)]
        self._played = rounds
        return json.dumps(losses)


def main(scenario_path: str) -> None:
    """Be the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the observer
    be_helper(lambda *_: PageDrawer(scenario_path), NICE)


if __name__ == "__main__":
    main(sys.argv[1])
