"""Whose links a fault is on: all of them, a list, or some drawn by the scenario's seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Discriminator, NonNegativeInt, SerializeAsAny, Tag

from edgefw.delays.strict import Strict
from edgefw.errors import InputError

if TYPE_CHECKING:
    import numpy as np


class Draw(Strict):
    """Agents chosen by the scenario's seed: `draw` of them, with or without replacement.

    The published runs drew with replacement, so that `draw: 20` of 30 means about 15 distinct agents.
    """

    draw: NonNegativeInt
    replacement: bool = False


def _kind(agents: object) -> str | None:
    """Return in which of the three ways agents are named: only that one is searched for mistakes."""
    if isinstance(agents, dict | Draw):
        return "[draw]"
    if isinstance(agents, list):
        return "[list]"
    return "[all]" if agents == "all" else None


Agents = Annotated[
    Annotated[Literal["all"], Tag("[all]")]
    | Annotated[list[NonNegativeInt], Tag("[list]")]
    | Annotated[Draw, Tag("[draw]")],
    Discriminator(
        _kind,
        custom_error_type="agents",
        custom_error_message="write all, a list such as [0, 3], or {draw: 2} for two at random",
    ),
    SerializeAsAny(),  # each of the three is written as it is: nobody need be asked which it is
]


def check_agents(agents: str | list[int] | Draw, n: int) -> None:
    """Refuse agents that are not there."""
    if isinstance(agents, list) and (wrong := [i for i in agents if i >= n]):
        raise InputError(f"agents names agent {wrong[0]}: agents are 0 to {n - 1}", "agents")
    if isinstance(agents, Draw) and agents.draw > n and not agents.replacement:
        raise InputError(
            f"agents.draw is {agents.draw}: there are only {n} agents, unless replacement is true",
            "agents.draw",
        )


def chosen(agents: str | list[int] | Draw, n: int, random: np.random.Generator) -> tuple[int, ...] | None:
    """Return the agents, sorted and distinct, `random` for those that are drawn; None = all of them.

    The paper's runs drew with replacement (20 of 30 is then about 15 agents); its text reads without.
    """
    if isinstance(agents, str):
        return None
    if isinstance(agents, list):
        return tuple(sorted(set(agents)))
    check_agents(agents, n)
    return tuple(sorted(set(random.choice(n, size=agents.draw, replace=agents.replacement).tolist())))
