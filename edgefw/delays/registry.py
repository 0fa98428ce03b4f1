"""Every fault type: a line each. Whatever reads, writes, checks or documents faults derives from this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, get_args

from pydantic import Field

from edgefw.delays.adversary import Adversary
from edgefw.delays.blackout import Blackout
from edgefw.delays.drop import Drop
from edgefw.delays.gilbert_elliott import GilbertElliott
from edgefw.delays.latency import Latency
from edgefw.delays.ramp import Ramp
from edgefw.delays.rounds import Rounds

if TYPE_CHECKING:
    from edgefw.delays.fault import Fault

AnyFault = Annotated[
    Latency
    | Rounds
    | Blackout
    | Ramp
    | Drop
    | GilbertElliott
    | Adversary,
    Field(discriminator="type"),
]  # fmt: skip

TYPES: dict[str, type[Fault]] = {
    each.model_fields["type"].default: each for each in get_args(get_args(AnyFault)[0])
}
