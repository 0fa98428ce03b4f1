"""Run folders as an observer leaves them, of plays that the core made in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import playback

from edgefw.core.regret import global_losses
from edgefw.records import PlayRow, RunFolder, content_hash, environment, play_bytes
from edgefw.scenario.setup import Setup, resolve

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


def recorded(path: Path, **changes: Any) -> RunFolder:
    setup = resolve(playback.scenario(**changes))
    folder = playback.new_folder(path, setup.scenario)
    folder.write_rows(rows(setup), meta(setup))
    return folder
