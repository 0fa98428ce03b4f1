"""Run folders as an observer leaves them, of plays that the core made in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import playback

from edgefw.core.account import Entry
from edgefw.core.messages import gradient_norm, observe
from edgefw.core.regret import global_losses
from edgefw.delays.hold import Hold, RoundsHold, WallHold, make_hold
from edgefw.records import PlayRow, RunDatabase, RunFolder, content_hash, environment, play_bytes
from edgefw.scenario.plan import scenario_plan
from edgefw.scenario.setup import Setup, resolve
from edgefw.services.broker.account import Account
from edgefw.services.broker.limits import limits_of
from edgefw.services.broker.timeline import Timeline
from edgefw.transport.codec import encode_feedback

if TYPE_CHECKING:
    from pathlib import Path


def rows(setup: Setup) -> list[PlayRow]:
    """Return what an observer would record of a run, with every play whole."""
    recorded = []
    for t, played in enumerate(playback.play_all(setup), start=1):
        losses = global_losses(setup.loss, [one.play.point for one in played], *setup.batches(t))
        for i, one in enumerate(played):
            point = play_bytes(one.play.point)
            arrivals, network = one.arrivals, float(losses[i])
            recorded.append(
                PlayRow(t, i, one.local_loss, network, arrivals, one.outstanding, content_hash(point), point)
            )
    return recorded


def meta(setup: Setup) -> dict[str, str]:
    facts = {"digest": setup.scenario.digest, "data": "synthetic", "data_digest": setup.dataset.digest}
    return facts | environment()


def account(setup: Setup) -> list[Entry]:
    """Return what the broker would tell of the run: a round takes a second, all that is due comes at once."""
    plan, entries = scenario_plan(setup.scenario), list[Entry]()
    hold, timeline = make_hold(plan, limits_of(setup.scenario)), Timeline(10**18, None)
    told = Account(timeline, entries.append)
    told.begin(plan, 0.5)
    for t, played in enumerate(playback.play_all(setup), start=1):
        for i, one in enumerate(played):
            now = t + i / 100
            payload = encode_feedback(observe(setup.loss, one.play, *setup.batch(i, t))[1])
            norm = gradient_norm(setup.loss, one.play, *setup.batch(i, t))
            hold.submit(i, t, payload, norm, now)
            told.accepted((i, t), payload, norm, hold.links[i].held.get(t), now)
        _deliver(hold, told, t)
    return entries


def _deliver(hold: Hold, told: Account, t: int) -> None:
    for i in range(len(hold.links)):
        if isinstance(hold, RoundsHold):
            hold.collect(i, t)
            told.collected(i, t, t + 0.5)
    if isinstance(hold, WallHold):
        released = hold.release(t + 0.5)
        told.released(released, t + 0.5)
        for held in released:
            told.acknowledged(held.agent, (held.round,), t + 0.6)


def recorded(path: Path, **changes: Any) -> RunFolder:
    setup = resolve(playback.scenario(**changes))
    folder = playback.new_folder(path, setup.scenario)
    folder.write_rows(rows(setup), meta(setup))
    database = RunDatabase(folder, meta(setup))
    database.add_account(account(setup))
    database.close()
    return folder
