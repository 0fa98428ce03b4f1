"""Every fault type: a line each. Whatever reads, writes, checks or documents faults derives from this.

A fault type of another package is named where a type is written, `{type: "my_pkg.faults:Weibull", ...}`, or
by its entry point. It keeps that name as its type: what was written can be read again.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, get_args

from pydantic import Field, SerializeAsAny, TypeAdapter, WrapValidator
from pydantic_core import SchemaValidator, core_schema

from edgefw.delays.adversary import Adversary
from edgefw.delays.blackout import Blackout
from edgefw.delays.drop import Drop
from edgefw.delays.fault import Fault
from edgefw.delays.gilbert_elliott import GilbertElliott
from edgefw.delays.latency import Latency
from edgefw.delays.ramp import Ramp
from edgefw.delays.rounds import Rounds
from edgefw.errors import InputError
from edgefw.plugins import PLACE, Registry, subclass

if TYPE_CHECKING:
    from pydantic import ValidatorFunctionWrapHandler

_BuiltIn = (
    Latency
    | Rounds
    | Blackout
    | Ramp
    | Drop
    | GilbertElliott
    | Adversary
)  # fmt: skip


def _adopt(name: str, found: type[Any]) -> type[Fault]:
    type_: type[Fault] = subclass("fault type", Fault)(name, found)
    if type_.model_fields["type"].annotation is not str:
        raise InputError(
            f"fault type {name!r}: {found.__name__} has a field type of its own: leave it out, it is "
            "the name that a scenario writes"
        )
    return type_


_BY_NAME: dict[str, type[Fault]] = {each.model_fields["type"].default: each for each in get_args(_BuiltIn)}

TYPES: Registry[type[Fault]] = Registry("fault type", "edgefw.faults", _BY_NAME, _adopt)


def _read(value: Any, built_in: ValidatorFunctionWrapHandler) -> Any:
    """Read a fault of another package's type; all others are left to the types that are built in."""
    type_ = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    if not isinstance(type_, str) or type_ in _BY_NAME:
        return built_in(value)
    if PLACE.fullmatch(type_) is None and type_ not in TYPES:  # its mistake names the types that there are
        return built_in(value)
    try:
        found = TYPES[type_]
    except InputError as error:
        raise ValueError(str(error)) from None
    return value if isinstance(value, found) else _reader(found, type_).validate_python(value)


@cache
def _reader(found: type[Fault], type_: str) -> SchemaValidator:
    """Return what reads a fault of one type. Its mistakes name the type, as those of built-in types do."""
    tagged: Any = {type_: found.__pydantic_core_schema__}
    return SchemaValidator(core_schema.tagged_union_schema(tagged, discriminator="type"))


AnyFault = Annotated[_BuiltIn, Field(discriminator="type"), WrapValidator(_read), SerializeAsAny()]

FAULT: TypeAdapter[Fault] = TypeAdapter(AnyFault)
"""Reads a fault of any type, as a scenario writes it."""
