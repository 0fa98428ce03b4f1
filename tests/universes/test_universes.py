"""Two hundred universes with fixed seeds: nothing in them is lost, early, used twice or left over."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from universes.__main__ import told
from universes.draw import Event, Universe, universe
from universes.running import run, run_seed
from universes.shrink import shrink

from edgefw.services.observer import briefing

if TYPE_CHECKING:
    from collections.abc import Iterator

SEEDS = range(200)
AT_ONCE = 10


@pytest.mark.parametrize("first", SEEDS[::AT_ONCE])
def test_in_every_universe_all_is_as_it_must_be(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        outcome = run_seed(seed)
        assert not outcome.failed, told(shrink(outcome))


# Seeds of new universes in which something was wrong, and what it was.
MET = {
    6545: ([1, 2], "limits", "a crash damaged bytes that were fsynced: no disk that SQLite counts on does"),
    6053: ([1, 3, 5], "delays,latency,limits,order", "verify: a plan was changed before a kill, unseen"),
    6151: ([1], "latency,limits,order", "verify: the run had started, and nothing of it was kept"),
    6182: ([2, 3], "commits,latency,limits,order", "verify: dropped, withdrawn, accepted and dropped again"),
    6240: (range(1, 8), "", "verify: rounds that were asked for unseen, before the next change of the plan"),
    6345: ([1, 3], "delays,latency,limits", "verify: asked for, and accepted once more after a kill"),
    6268: (
        [1, 3, 4, 5, 6],
        "commits,delays,limits",
        "verify: what is over, by a plan that the journal forgot",
    ),
    7972: (
        [2, 3, 4, 6],
        "commits,latency,limits",
        "verify: not given out unseen, and not due when the next broker began",
    ),
    22394: ([3, 4], "delays,limits,order", "verify: sent unseen, then its link was cut off unseen"),
    26084: ([1, 2, 3, 4, 5, 7], "commits,delays,limits", "verify: sent unseen, under a plan nobody knew of"),
    23359: (
        [1, 2, 3, 5, 8],
        "limits",
        "given out in a blackout: that a round had been asked for was forgotten with a kill",
    ),
    23934: (
        range(1, 7),
        "",
        "dropped while the disk took its time: that was promised, forgotten with a kill, and delivered",
    ),
    100113: (range(1, 5), "limits", "a torn tail said, by a flipped bit, that a transaction ended in it"),
    105423: ([2, 3, 6, 8], "latency,order", "the world: what a killed broker had delivered is pending again"),
    6620: ([2], "latency,limits,order", "the world: given out before a kill, then accepted anew and dropped"),
    100604: ([1, 2, 3, 8], "delays,limits", "killed before it told anything, and nothing of it was on disk"),
    105110: (
        [2, 3, 7],
        "delays,latency,limits,order",
        "the same, and the observer was killed before it could be told",
    ),
    201730: ([3, 5, 8], "limits", "verify: had come with the last round before a kill, then was dropped"),
    210471: ([1, 3, 8, 9], "commits,delays,limits", "verify: dropped by a plan that nobody knows any more"),
    200024: ([2, 3], "commits,delays,latency,limits", "verify: withdrawn, due while others were released"),
    201239: ([2, 3, 8], "delays,limits", "given out, could not be kept, and dropped when it came again"),
    411061: ([1, 3], "delays,limits,order", "acknowledged while its link was disabled: taken for dropped"),
    411319: ([1, 5, 6, 8], "delays,limits,order", "a log begun anew twice: what was in it seemed to be lost"),
    601349: ([2, 4, 6], "limits", "verify: killed between a change of the plan and what it did to a link"),
    601564: ([2], "commits,latency", "the world: calls that ended just now have tasks that have not yet"),
    700123: ([], "commits,limits,order", "verify: due a nanosecond later than the broker had added it up"),
    804672: ([4, 6, 7], "commits,latency,limits", "the world: calls ended while the broker stood still"),
    804468: ([1, 2], "limits,order", "verify: withdrawn again, and its agent had the first copy"),
    903871: ([3, 5, 6], "limits,order", "acknowledged, could not be kept, and dropped when it came again"),
    412927: ([1, 4, 5, 6], "delays,limits", "the disk: a crash damaged pages that nobody was writing"),
    829: ([3, 4, 5, 9, 10, 101], "limits,order", "verify: all plays on record, agents dead, feedback not"),
    6523: ([2, 4, 5, 101, 103], "latency,limits,order", "the same: when the run started was forgotten"),
    7583: ([2, 3, 4, 5, 6, 101, 103, 104], "delays,limits", "the same: used, then never accepted again"),
    7898: ([1, 6, 9, 101], "latency,limits,order", "the same: when the run started was forgotten"),
    10320: ([1, 4, 104], "limits", "the same: due, and forgotten with a kill"),
    10327: ([1, 101], "limits,order", "the same: when the run started was forgotten"),
    11211: ([1, 2, 101], "limits", "the same: due, and forgotten with a kill"),
    842: ([2, 3, 4, 101], "latency,limits,order", "the same: when the run started was forgotten"),
    2003182: (
        [3, 4, 5, 10],
        "commits,delays,latency,limits",
        "verify: dropped unseen, by a plan that nobody knows any more: no broker held it again",
    ),
    11691: ([2, 101], "latency,limits,order", "the same: when the run started was forgotten"),
}


@pytest.mark.parametrize("seed", MET)
def test_what_was_wrong_in_a_new_universe_is_right_now(seed: int) -> None:
    events, without, was = MET[seed]
    outcome = run_seed(seed, events, [part for part in without.split(",") if part])
    assert not outcome.failed, f"{was}: {told(outcome)}"


def far_apart() -> Universe:
    """Return a universe in which agents are two rounds apart, for one of them is paused, and die together."""
    everyone = ("agent-0", "agent-1", "agent-2")
    killed = {"who": everyone, "tail": "none", "lost": True, "down": (0.02,) * 3}
    return Universe(
        0,
        {
            "name": "wide",
            "clock": "rounds",
            "pace": "asap",
            "network": {"agents": 3, "topology": "line"},
            "data": {"source": "synthetic", "samples": 24, "features": 2, "classes": 2},
            "problem": {"batch": 1},
            "algorithm": {"horizon": 7, "sub_iterations": 1},
            "delays": [],
            "checkpoints": {"every": 1},
        },
        latency="short",
        commits="prompt",
        reopened=False,
        events=(
            Event(1, "pause", 7, 0.0, 0, {"who": "agent-0", "seconds": 2.0}),
            Event(2, "crash", 7, 1.0, 0, killed),
        ),
    )


def test_agents_that_are_as_far_apart_as_can_be_and_die_together_come_back() -> None:
    outcome = run(far_apart())
    assert not outcome.failed, told(outcome)


@contextmanager
def as_often_however_wide() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(briefing, "checkpoint_every", lambda setup: setup.scenario.checkpoints.every)
        yield


def test_they_would_not_if_checkpoints_were_as_often_as_is_asked_for() -> None:
    assert run(far_apart(), as_often_however_wide).violations == ("nobody has come to an end after 400 s",)


def test_a_universe_is_a_function_of_its_seed() -> None:
    drawn = next(each for each in map(universe, SEEDS) if len(each.events) > 6)
    once, again = run(drawn, logs=True), run(drawn, logs=True)
    assert once.happened
    assert once.said == again.said
    assert once.steps == again.steps


def test_universes_have_everything_in_them_that_can_happen() -> None:
    drawn = [universe(seed) for seed in SEEDS]
    kinds = {event.kind for each in drawn for event in each.events}
    assert kinds == {"kill", "crash", "plan", "cut", "pause", "full", "clock", "stranger"}
    assert {each.clock for each in drawn} == {"wall", "rounds"}
    faults = {fault["type"] for each in drawn for fault in each.document["delays"]}
    types = {"latency", "rounds", "blackout", "ramp", "drop", "gilbert_elliott", "adversary"}
    assert faults == types
    assert any("limits" in each.document for each in drawn)
