"""Models of what the admin endpoint takes and gives: they validate bodies, and the document shows them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field, ValidationError, ValidationInfo

from edgefw.delays.explain import explained
from edgefw.delays.fault import ApplyTo
from edgefw.delays.plan import MOST_FAULTS
from edgefw.delays.strict import Strict
from edgefw.delays.units import as_written, format_duration
from edgefw.errors import InputError

if TYPE_CHECKING:
    from edgefw.services.broker.steering import LinkState

Body = TypeVar("Body", bound=Strict)
Count = Annotated[int, Field(ge=0)]


def validated(model: type[Body], body: Any) -> Body:
    """Return a body as its model has it; an InputError says what is wrong."""
    if not isinstance(body, dict):
        raise InputError(f"the body is {as_written(body)}: it must be an object", "")
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise explained(error, model) from None


class LinkPatch(Strict):
    """A change of a link."""

    enabled: bool = Field(examples=[False])


def _not_too_many(faults: object) -> object:
    if isinstance(faults, list) and len(faults) > MOST_FAULTS:
        raise ValueError(f"{len(faults)} are too many: at most {MOST_FAULTS} are allowed")
    return faults


class PlanBody(Strict):
    """A plan that replaces the whole; its faults are not checked yet."""

    faults: Annotated[list[Any], BeforeValidator(_not_too_many)]
    disabled: list[Count] = Field(
        default_factory=list, description="links that hold everything; unchanged if left out"
    )
    version: int = Field(
        default_factory=int, ge=1, description="refused (409) if it is not the plan's; any if left out"
    )


class FaultShown(Strict):
    """A fault in an answer; its type's own fields are its attributes."""

    agents: Literal["all"] | list[Count] = Field(description="whose links it is on")
    name: str
    type: str
    attributes: dict[str, Any]
    probability: float
    apply_to: ApplyTo
    at: str | int | None = Field(default=None, description="left out where it began when it was posted")
    duration: str | int | None = Field(default=None, description="left out where it has no end")


class PlanShown(Strict):
    """The whole plan."""

    version: Count
    faults: list[FaultShown]
    disabled: list[Count] = Field(description="links that hold everything until they are enabled again")


def _time(seconds: float | None) -> str | None:
    """Return seconds as people write them, to the microsecond; a time that has passed is 0."""
    if seconds is None or not math.isfinite(seconds):
        return None
    return format_duration(round(max(seconds, 0.0), 6))


def _amount(amount: float | None, info: ValidationInfo) -> str | int | None:
    """Return an amount in the unit of the run's clock, which is the validation's context."""
    if info.context == "wall" or amount is None or not math.isfinite(amount):
        return _time(amount)
    return int(amount)


Time = Annotated[str | None, BeforeValidator(_time)]
Amount = Annotated[str | int | None, BeforeValidator(_amount)]


class LinkNumbers(Strict):
    """A link without its faults; see `LinkState`."""

    agent: Count
    enabled: bool
    connected: bool
    pending: Count = Field(description="feedback that is not due yet")
    due: Count = Field(description="feedback that was released and not yet acknowledged")
    oldest_age: Time = Field(description="of the oldest that is held; null if there is none")
    accepted: Count
    delivered: Count
    requested_delay: Amount = Field(
        description="of the last feedback; null if there is none, or no known end"
    )
    next_due: Amount = Field(description="time to the next release, or its round; null if there is none")

    @classmethod
    def text(cls, link: LinkState, clock: str) -> bytes:
        """Return a link as JSON."""
        return cls.model_validate(link, from_attributes=True, context=clock).model_dump_json().encode()


class LinkShown(LinkNumbers):
    """A link."""

    faults: list[FaultShown] = Field(description="in force on it")


class LinksShown(Strict):
    """Every link."""

    clock: Literal["wall", "rounds"]
    links: list[LinkShown]


class Refusal(Strict):
    """What cannot be done."""

    error: str = Field(description="one line: what is wrong, and what to do")
    status: int = Field(description="the HTTP status")
    field: str | None = Field(
        default=None, description="the path of what is wrong in the body, empty for the whole"
    )
