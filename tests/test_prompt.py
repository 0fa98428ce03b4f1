"""The same run with nobody late: only the delays are gone."""

from __future__ import annotations

import numpy as np

from edgefw.prompt import prompt_rounds, without_delays
from edgefw.scenario.load import load
from edgefw.scenario.setup import resolve
from edgefw.simulator import simulate

SMALL = {
    "network.agents": 3,
    "data.source": "synthetic",
    "data.samples": 300,
    "data.features": 20,
    "data.classes": 4,
    "algorithm.horizon": 8,
    "clock": "rounds",
}
LATE = load("default", {**SMALL, "delays": [{"type": "rounds", "agents": [1], "rounds": 4}]})


def test_it_has_the_rate_that_was_played_and_everybody_is_on_time() -> None:
    planned = resolve(LATE)
    setup = resolve(without_delays(LATE, planned.zeta))
    assert setup.zeta == planned.zeta
    assert (setup.delays == 1).all()
    assert (planned.delays[1] == 4).all()


def test_it_is_played_round_by_round() -> None:
    expected = simulate(resolve(without_delays(LATE, resolve(LATE).zeta))).global_loss
    np.testing.assert_array_equal(np.stack(list(prompt_rounds(LATE))), expected)
    late = simulate(resolve(LATE)).global_loss
    assert not np.array_equal(expected, late)
