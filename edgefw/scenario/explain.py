"""What pydantic found wrong, as a user would say it: the field, the value, what is allowed, in one line."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from edgefw.errors import unknown
from edgefw.scenario.faults import TYPES, Draw
from edgefw.scenario.model import Scenario
from edgefw.scenario.units import as_written

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic_core import ErrorDetails

    Location = tuple[int | str, ...]

_LISTS_OF_FAULTS = ("delays", "events")
_PAIR = "an edge is a pair of agents, such as [0, 1]"
_ALLOWED = {
    "greater_than": "it must be above {gt}",
    "greater_than_equal": "it must be at least {ge}",
    "less_than": "it must be below {lt}",
    "less_than_equal": "it must be at most {le}",
    "int_type": "it must be a whole number",
    "float_type": "it must be a number",
    "finite_number": "it must be a finite number",
    "bool_type": "it must be true or false",
    "string_type": "it must be text, in quotes if it looks like a number",
    "list_type": "it must be a list, such as [...]",
    "tuple_type": _PAIR,
    "too_long": _PAIR,
    "model_attributes_type": "a fault is a mapping, such as {{type: drop}}",
}


def explain(error: ValidationError) -> str:
    """Return the first mistake that pydantic found as one line.

    A field that is not known comes first: it is often the one that another mistake says is missing.
    """
    details = sorted(error.errors(include_url=False), key=lambda detail: detail["type"] != "extra_forbidden")
    more = len(details) - 1
    return _line(details[0]) if not more else f"{_line(details[0])} (and {more} more)"


def _line(detail: ErrorDetails) -> str:
    kind = detail["type"]
    if kind in _SAID:
        return _SAID[kind](detail)
    limits = {name: _plain(limit) for name, limit in detail.get("ctx", {}).items()}
    allowed = _ALLOWED[kind].format(**limits) if kind in _ALLOWED else detail["msg"]
    return f"{_path(detail['loc'])} is {as_written(detail['input'])}: {allowed}"


def _unknown_field(detail: ErrorDetails) -> str:
    *above, name = detail["loc"]
    fields = _fields(tuple(above))
    homes = [f"{section}.{name}" for section in Scenario.model_fields if name in _fields((section,))]
    near = homes if homes and not above else difflib.get_close_matches(str(name), fields, n=1)
    hint = f": did you mean {near[0]!r}?" if near else f"; allowed: {', '.join(fields)}"
    return f"{_path(detail['loc'])}: unknown field{hint}"


def _missing(detail: ErrorDetails) -> str:
    *above, last = detail["loc"]
    if isinstance(last, int):  # the second end of an edge
        return f"{_path(tuple(above))} is {as_written(detail['input'])}: {_PAIR}"
    whose = f"type {above[2]}" if len(above) == 3 else _path(tuple(above))
    return f"{_path(detail['loc'])} is missing: {whose} needs it"


def _no_type(detail: ErrorDetails) -> str:
    return f"{_path(detail['loc'])}.type is missing: give one of {', '.join(TYPES)}"


def _unknown_type(detail: ErrorDetails) -> str:
    return _not_one_of(f"{_path(detail['loc'])}.type", "fault type", detail["input"]["type"], list(TYPES))


def _unknown_choice(detail: ErrorDetails) -> str:
    path, choices = _path(detail["loc"]), re.findall(r"'([^']*)'", detail["ctx"]["expected"])
    return _not_one_of(path, path.rpartition(".")[2], detail["input"], choices)


def _not_one_of(path: str, kind: str, given: Any, choices: list[str]) -> str:
    if isinstance(given, str):
        return f"{path}: {unknown(kind, given, choices)}"
    return f"{path} is {as_written(given)}: it must be one of {', '.join(choices)}"


def _not_a_section(detail: ErrorDetails) -> str:
    fields = ", ".join(_fields(detail["loc"]))
    given = as_written(detail["input"])
    return f"{_path(detail['loc']) or 'a scenario'} is {given}: it must be a mapping of {fields}"


def _own_words(detail: ErrorDetails) -> str:
    """Return what a validator of ours said: it shows the value already."""
    path, message = _path(detail["loc"]), str(detail["ctx"]["error"])
    return f"{path}: {message}" if path else message


_SAID: dict[str, Callable[[ErrorDetails], str]] = {
    "extra_forbidden": _unknown_field,
    "invalid_key": _unknown_field,
    "missing": _missing,
    "union_tag_not_found": _no_type,
    "union_tag_invalid": _unknown_type,
    "literal_error": _unknown_choice,
    "model_type": _not_a_section,
    "value_error": _own_words,
}


def _plain(limit: Any) -> Any:
    return int(limit) if isinstance(limit, float) and limit.is_integer() else limit


def _path(loc: Location) -> str:
    """Return the location as the user writes it: without the type of a fault, and without [branches]."""
    own = loc[:2] + loc[3:] if loc and loc[0] in _LISTS_OF_FAULTS else loc
    return ".".join(str(part) for part in own if not (isinstance(part, str) and part.startswith("[")))


def _fields(loc: Location) -> list[str]:
    """Return the fields that stand at a location, or none."""
    model: type[BaseModel] | None = Scenario
    for depth, part in enumerate(loc):
        if depth == 2 and loc[0] in _LISTS_OF_FAULTS:
            model = TYPES[str(part)]
        elif part == "[draw]":
            model = Draw
        elif model is not None:
            model = _section(model, part)
    return [] if model is None else list(model.model_fields)


def _section(model: type[BaseModel], name: int | str) -> type[BaseModel] | None:
    field = model.model_fields.get(str(name))
    annotation = None if field is None else field.annotation
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
