"""The section `network` of a scenario."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, NonNegativeInt, PositiveInt

from edgefw.delays.strict import Strict
from edgefw.problem.graph import TOPOLOGIES
from edgefw.scenario.fields import one_of

_MOST_AGENTS = 10_000  # beyond anything that ends; a mistyped one is said at once

Edge = Annotated[tuple[NonNegativeInt, NonNegativeInt], Field(strict=False)]  # a file has lists, no tuples


class Network(Strict):
    """Who there is, and who talks to whom."""

    agents: PositiveInt = Field(
        default=8,
        le=_MOST_AGENTS,
        description="How many agents there are. They are numbered from 0.",
        examples=[30],
    )
    topology: one_of("topology", tuple(TOPOLOGIES)) = Field(  # type: ignore[valid-type]
        default="cycle",
        description="The shape of the graph. It has to be connected. Agents exchange messages with their "
        "neighbours only.",
        examples=["erdos_renyi"],
    )
    rows: PositiveInt | None = Field(
        default=None,
        description="How many rows a grid has. Left out, the grid is as square as the number of agents "
        "allows; a prime number of them, which allows a line only, is refused.",
        examples=[2],
    )
    cols: PositiveInt | None = Field(
        default=None,
        description="How many columns a grid has. rows times cols must be the number of agents.",
        examples=[4],
    )
    p: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="A probability. In erdos_renyi it is that of an edge (0.3 if left out), in small_world "
        "that of an edge being rewired (0.1 if left out).",
        examples=[0.3],
    )
    degree: PositiveInt | None = Field(
        default=None,
        description="How many neighbours an agent has in random_regular, and has before edges are rewired in "
        "small_world. It is 4 if left out.",
        examples=[4],
    )
    edges: list[Edge] | None = Field(
        default=None,
        description="The pairs of neighbours. Topology edges needs them.",
        examples=[[[0, 1], [1, 2]]],
    )
