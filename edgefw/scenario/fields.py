"""What fields of several sections of a scenario are: names of which there are some, bounded numbers."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from edgefw.errors import InputError, unknown
from edgefw.plugins import PLACE, Registry

LARGEST = 1e9  # of a radius or a rate: float32 still holds sums of their products


def one_of(kind: str, choices: tuple[str, ...]) -> Any:
    """Return the type of a name among `choices`; a wrong one is answered with the nearest right one."""

    def check(name: str) -> str:
        if name not in choices:
            raise ValueError(str(unknown(kind, name, choices)))
        return name

    return Annotated[str, AfterValidator(check), Field(json_schema_extra={"enum": list(choices)})]


def name_in(registry: Registry[Any]) -> Any:
    """Return the type of a name of a registry, or of a class that another package brings."""

    def check(name: str) -> str:
        try:
            registry[name]
        except InputError as error:
            raise ValueError(str(error)) from None
        return name

    def schema(found: dict[str, Any]) -> None:
        place = {"type": "string", "pattern": f"^{PLACE.pattern}$"}
        found |= {"anyOf": [{"type": "string", "enum": registry.names()}, place]}
        del found["type"]

    return Annotated[str, AfterValidator(check), Field(json_schema_extra=schema)]
