"""What pydantic found wrong, as a user would say it: the field, the value, what is allowed, in one line."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from edgefw.delays.agents import Draw
from edgefw.delays.registry import TYPES
from edgefw.delays.units import as_written
from edgefw.errors import InputError, unknown

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    Location = tuple[int | str, ...]
    Root = type[BaseModel] | None

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


def explained(error: ValidationError, root: Root = None) -> InputError:
    """Return the first mistake that pydantic found, as one line, with its field.

    `root` is the model of the document, None where it is a single fault. A field that is not known comes
    first: it is often the one that another mistake says is missing.
    """
    details = sorted(error.errors(include_url=False), key=lambda detail: detail["type"] != "extra_forbidden")
    path, line = _said(details[0], root)
    return InputError(line if len(details) == 1 else f"{line} (and {len(details) - 1} more)", path)


def _said(detail: ErrorDetails, root: Root) -> tuple[str, str]:
    """Return the path of a mistake as the user writes it, and what is wrong there."""
    loc, given, context, kind = detail["loc"], detail["input"], detail.get("ctx", {}), detail["type"]
    path = _path((*loc, "type") if kind in {"union_tag_not_found", "union_tag_invalid"} else loc, root)
    match kind:
        case "extra_forbidden" | "invalid_key":
            line = f"{path}: unknown field{_hint(loc, root)}"
        case "missing":
            line = _missing(loc, given, root)
        case "union_tag_not_found":
            line = f"{path} is missing: give one of {', '.join(TYPES.names())}"
        case "union_tag_invalid":
            line = _not_one_of(path, "fault type", given["type"], TYPES.names())
        case "literal_error":
            choices = re.findall(r"'([^']*)'", context["expected"])
            line = _not_one_of(path, path.rpartition(".")[2], given, choices)
        case "model_type":
            fields = ", ".join(_fields(loc, root))
            line = f"{path or 'a scenario'} is {as_written(given)}: it must be a mapping of {fields}"
        case "value_error":  # of a validator of ours: its words show the value already
            line = f"{path}: {context['error']}" if path else str(context["error"])
        case _:
            limits = {name: _plain(limit) for name, limit in context.items()}
            allowed = _ALLOWED[kind].format(**limits) if kind in _ALLOWED else detail["msg"]
            line = f"{path} is {as_written(given)}: {allowed}"
    return path, line


def _hint(loc: Location, root: Root) -> str:
    """Return what may have been meant by an unknown field: one of that name elsewhere, or one like it."""
    *above, name = loc
    fields = _fields(tuple(above), root)
    sections = [] if root is None or above else root.model_fields
    homes = [f"{section}.{name}" for section in sections if name in _fields((section,), root)]
    near = homes or difflib.get_close_matches(str(name), fields, n=1)
    return f": did you mean {near[0]!r}?" if near else f"; allowed: {', '.join(fields)}"


def _missing(loc: Location, given: Any, root: Root) -> str:
    *above, last = loc
    place = _path(tuple(above), root)
    if isinstance(last, int):  # the second end of an edge
        return f"{place} is {as_written(given)}: {_PAIR}"
    whose = f"type {above[-1]}" if above and above[-1] in TYPES else place
    return f"{_path(loc, root)} is missing: {whose} needs it"


def _not_one_of(path: str, kind: str, given: Any, choices: list[str]) -> str:
    if isinstance(given, str):
        return f"{path}: {unknown(kind, given, choices)}"
    return f"{path} is {as_written(given)}: it must be one of {', '.join(choices)}"


def _plain(limit: Any) -> Any:
    return int(limit) if isinstance(limit, float) and limit.is_integer() else limit


def _path(loc: Location, root: Root) -> str:
    """Return the location as the user writes it: without the type of a fault, and without [branches]."""
    return ".".join(str(part) for at, part in enumerate(loc) if not _is_tag(loc, at, root))


def _is_tag(loc: Location, at: int, root: Root) -> bool:
    """Whether a part is pydantic's own: a branch of a union, or the type of a fault before its fields.

    A fault stands at the top where it is all there is, else in a list. `rounds` at the top of a scenario is
    a field that it does not have.
    """
    part = loc[at]
    if isinstance(part, str) and part.startswith("["):
        return True
    return part in TYPES and (root is None if at == 0 else at == 2 and isinstance(loc[1], int))


def _fields(loc: Location, root: Root) -> list[str]:
    """Return the fields that stand at a location, or none."""
    model = root
    for part in loc:
        if part in TYPES:
            model = TYPES[str(part)]
        elif part == "[draw]":
            model = Draw
        elif model is not None and isinstance(part, str):  # a number is a place in a list of one section
            model = _section(model, part)
    return [] if model is None else list(model.model_fields)


def _section(model: type[BaseModel], name: str) -> Root:
    """Return the model of a field that has fields of its own, or whose values in a list have."""
    field = model.model_fields.get(name)
    annotation = None if field is None else field.annotation
    if get_origin(annotation) is list:
        (annotation,) = get_args(annotation)
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
