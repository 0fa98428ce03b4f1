"""The harness finds bugs: each that is planted shows in the universe that it was shrunk to."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import pytest
from universes.draw import universe
from universes.planted import BUGS, planted
from universes.running import run

if TYPE_CHECKING:
    from collections.abc import Collection

# Seed, events and what was left out, as `make planted` prints them: the first to look at.
FOUND: dict[str, tuple[int, Collection[int], str]] = {
    "feedback is acknowledged before its commit": (1002, [3], "delays,latency,limits,order"),
    "feedback is released 20 ms early": (1001, [], "commits,latency,limits,order"),
    "feedback comes a round early": (1003, [], "commits,latency,limits,order"),
    "the last entry of the journal is forgotten on restart": (1004, [4], "delays,limits,order"),
    "an agent uses feedback that is delivered again once more": (1017, [5], "delays,latency,limits,order"),
    "a plan that was changed is not written": (1004, [4], "latency,limits,order"),
    "the oldest plan is in force after a restart": (1004, [4], "latency,limits,order"),
    "a change of the plan is answered before it is on disk": (1013, [5, 7], "delays,latency,limits,order"),
    "a change of the plan does not reach what is pending": (1054, [5], "commits,delays,limits,order"),
    "frames are resumed one too late": (1000, [], "commits,delays,latency,limits,order"),
    "a feedback is known by its round alone": (1000, [], "commits,delays,latency,limits,order"),
    "a lock is held while a subscription waits": (1001, [], "commits,latency,limits,order"),
    "acknowledgements are not looked at": (1001, [], "commits,delays,latency,limits,order"),
    "that feedback is done is not noted": (1001, [], "commits,delays,latency,limits,order"),
    "that feedback was dropped is not noted": (1004, [3], "commits,latency,limits,order"),
    "when the run started is not noted": (1015, [2], "commits,latency,limits,order"),
    "times on disk are read by a clock that was set since": (1030, [1, 2], "commits,latency,limits,order"),
    "only every other batch is committed at once": (1002, [1, 3], "delays,latency,limits"),
    "a full disk is taken for a commit": (1012, [2], "delays,latency,limits,order"),
    "a torn tail is taken for damage": (1004, [3, 4], "latency,limits,order"),
    "a log that is begun anew is taken for damage": (1233, [1, 2], "latency,limits,order"),
    "what could not be kept stays in memory": (1012, [2], "delays,latency,limits,order"),
    "accepted feedback is counted twice": (1000, [], "commits,delays,latency,limits,order"),
    "every stream of submissions leaves a task behind": (1000, [], "commits,delays,latency,limits,order"),
    "a new subscription misses the first that is unacknowledged": (1001, [], "commits,latency,limits,order"),
    "what was under way when a stream broke is not submitted again": (
        1002,
        [2],
        "commits,delays,latency,limits,order",
    ),
    "the account is let go of before it is answered": (1041, [1, 2, 3], "delays,latency,limits,order"),
    "the limits of a link are not looked at": (1065, [1], "commits,order"),
    "feedback that was sent before a kill is done after it": (1030, [2], "commits,delays,limits,order"),
    "a play is scored before it is on record": (1001, [2], "commits,delays,limits,order"),
    "the account is answered before it is on record": (1001, [2], "commits,delays,latency,limits,order"),
    "an observer that goes on has forgotten what was reported": (1001, [2], "commits,delays,limits,order"),
    "an observer that goes on has forgotten which feedback was used": (
        1014,
        [3, 8],
        "commits,delays,latency,limits,order",
    ),
    "reports that were under way when a stream broke are not sent again": (
        1001,
        [2],
        "commits,delays,latency,limits,order",
    ),
    "a sweep begins before what it began with is on disk": (1089, [3, 102], "commits,limits,order"),
    "what is on record since the last checkpoint is forgotten": (1005, [101], "delays,limits"),
    "a checkpoint has no feedback that is on its way to the broker": (1030, [101], "commits,latency"),
    "a checkpoint has no plays that wait for the observer": (
        1015,
        [2, 4, 102],
        "commits,delays,limits,order",
    ),
    "nobody goes back for a neighbour that is behind": (1017, [9, 101], "delays,latency,limits"),
    "an agent that comes back is not told that the run is complete": (
        1391,
        [1, 2, 4, 6, 7, 8, 101],
        "commits",
    ),
}


OTHERS = range(1000, 1070)  # where that shows nothing any more: services that were changed act otherwise


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found_where_all_is_well_without_it(bug: str) -> None:
    seed, events, without = FOUND[bug]
    shrunk = universe(seed).only(events).less(without.split(","))
    drawn = chain([shrunk], map(universe, OTHERS))
    found = next((each for each in drawn if run(each, partial(planted, bug)).failed), None)
    assert found is not None
    assert not run(found).failed
