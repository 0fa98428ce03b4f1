"""The section `problem` of a scenario."""

from __future__ import annotations

from typing import Any

from pydantic import Field, PositiveInt

from edgefw.delays.strict import Strict
from edgefw.problem.feasible import SETS
from edgefw.problem.loss import LOSSES
from edgefw.scenario.fields import LARGEST, name_in


class Problem(Strict):
    """The loss, the feasible set and the batch of a round."""

    loss: name_in(LOSSES) = Field(  # type: ignore[valid-type]
        default="multinomial",
        description="The loss of a linear model on a batch, a mean over its samples. multinomial is the "
        "cross-entropy of all classes. squared takes the class, or a real target, as a number. "
        "binary_logistic sets some classes against all others: loss_params={positive: [...]} says which; "
        "left out, odd ones against even ones. A loss of your own is named as an algorithm is.",
        examples=["binary_logistic"],
    )
    set: name_in(SETS) = Field(  # type: ignore[valid-type]
        default="l1_per_class",
        description="The convex set that every play lies in. One of your own is named as an algorithm is.",
        examples=["nuclear_ball"],
    )
    radius: float = Field(
        default=24.0,
        gt=0,
        le=LARGEST,
        description="How large the set is: the bound on its norm, or what the entries of a simplex add up "
        "to.",
        examples=[8.0],
    )
    batch: PositiveInt = Field(
        default=2, description="How many samples an agent sees in a round.", examples=[60]
    )
    loss_params: dict[str, Any] = Field(
        default_factory=dict,
        description="Parameters of the loss. positive of binary_logistic are the classes that are set "
        "against all others, by name or number. Those of a loss of your own go to its class by name.",
        examples=[{"positive": [0]}],
    )
    set_params: dict[str, Any] = Field(
        default_factory=dict,
        description="Parameters of a feasible set of your own: they go to its class by name.",
        examples=[{"p": 3}],
    )
