"""All agents of a network in one place, exchanging frames in lockstep: the in-memory reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw.core.messages import Feedback, Frame, Play

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from edgefw.core.algorithm import Agent


def sweep(agents: Sequence[Agent], t: int, arrivals: Mapping[int, Sequence[Feedback]]) -> list[Play]:
    """Run sweep t of all agents, `arrivals` giving F^i_{t-1} by agent; return their plays of round t."""
    frames: dict[int, Frame] = {a.agent: a.start_sweep(t, arrivals.get(a.agent, ())) for a in agents}
    plays: list[Play] = []
    while not plays:
        answers = {a.agent: a.advance({j: frames[j] for j in a.neighbours}) for a in agents}
        plays = [answer for answer in answers.values() if isinstance(answer, Play)]
        frames = {i: answer for i, answer in answers.items() if isinstance(answer, Frame)}
    return plays
