"""What pydantic found wrong, as a user would say it: the field, the value, what is allowed, in one line."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from edgefw.delays.agents import Draw
from edgefw.delays.registry import TYPES
from edgefw.delays.units import as_written
from edgefw.errors import InputError, unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic_core import ErrorDetails

    Location = tuple[int | str, ...]

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


def explained(error: ValidationError, root: type[BaseModel] | None = None) -> InputError:
    """Return the first mistake that pydantic found, as one line, with its field.

    `root` is the model of the document, None where it is a single fault. A field that is not known comes
    first: it is often the one that another mistake says is missing.
    """
    details = sorted(error.errors(include_url=False), key=lambda detail: detail["type"] != "extra_forbidden")
    first, more = _Mistake(details[0], root), len(details) - 1
    return InputError(first.line if not more else f"{first.line} (and {more} more)", first.path)


class _Mistake:
    """One thing that pydantic found."""

    def __init__(self, detail: ErrorDetails, root: type[BaseModel] | None) -> None:
        self._detail, self._root = detail, root
        self.path = _path(detail["loc"])
        self.line = self._say()

    def _say(self) -> str:
        kind = self._detail["type"]
        if kind in _SAID:
            return _SAID[kind](self)
        limits = {name: _plain(limit) for name, limit in self._detail.get("ctx", {}).items()}
        allowed = _ALLOWED[kind].format(**limits) if kind in _ALLOWED else self._detail["msg"]
        return f"{self.path} is {as_written(self._detail['input'])}: {allowed}"

    def _unknown_field(self) -> str:
        *above, name = self._detail["loc"]
        fields = self._fields(tuple(above))
        homes = [] if self._root is None or above else self._homes(str(name))
        near = homes or difflib.get_close_matches(str(name), fields, n=1)
        hint = f": did you mean {near[0]!r}?" if near else f"; allowed: {', '.join(fields)}"
        return f"{self.path}: unknown field{hint}"

    def _homes(self, name: str) -> list[str]:
        """Return the sections of the document that have a field of this name."""
        sections = [] if self._root is None else self._root.model_fields
        return [f"{section}.{name}" for section in sections if name in self._fields((section,))]

    def _missing(self) -> str:
        *above, last = self._detail["loc"]
        if isinstance(last, int):  # the second end of an edge
            return f"{_path(tuple(above))} is {as_written(self._detail['input'])}: {_PAIR}"
        whose = f"type {above[-1]}" if above and above[-1] in TYPES else _path(tuple(above))
        return f"{self.path} is missing: {whose} needs it"

    def _no_type(self) -> str:
        self.path = _joined(self.path, "type")
        return f"{self.path} is missing: give one of {', '.join(TYPES)}"

    def _unknown_type(self) -> str:
        self.path = _joined(self.path, "type")
        return _not_one_of(self.path, "fault type", self._detail["input"]["type"], list(TYPES))

    def _unknown_choice(self) -> str:
        choices = re.findall(r"'([^']*)'", self._detail["ctx"]["expected"])
        return _not_one_of(self.path, self.path.rpartition(".")[2], self._detail["input"], choices)

    def _not_a_section(self) -> str:
        fields = ", ".join(self._fields(self._detail["loc"]))
        given = as_written(self._detail["input"])
        return f"{self.path or 'a scenario'} is {given}: it must be a mapping of {fields}"

    def _own_words(self) -> str:
        """Return what a validator of ours said: it shows the value already."""
        message = str(self._detail["ctx"]["error"])
        return f"{self.path}: {message}" if self.path else message

    def _fields(self, loc: Location) -> list[str]:
        """Return the fields that stand at a location, or none."""
        model: type[BaseModel] | None = self._root
        for part in loc:
            if part in TYPES:
                model = TYPES[str(part)]
            elif part == "[draw]":
                model = Draw
            elif model is not None:
                model = _section(model, part)
        return [] if model is None else list(model.model_fields)


_SAID: dict[str, Callable[[_Mistake], str]] = {
    "extra_forbidden": _Mistake._unknown_field,  # noqa: SLF001 - its own table
    "invalid_key": _Mistake._unknown_field,  # noqa: SLF001
    "missing": _Mistake._missing,  # noqa: SLF001
    "union_tag_not_found": _Mistake._no_type,  # noqa: SLF001
    "union_tag_invalid": _Mistake._unknown_type,  # noqa: SLF001
    "literal_error": _Mistake._unknown_choice,  # noqa: SLF001
    "model_type": _Mistake._not_a_section,  # noqa: SLF001
    "value_error": _Mistake._own_words,  # noqa: SLF001
}


def _not_one_of(path: str, kind: str, given: Any, choices: list[str]) -> str:
    if isinstance(given, str):
        return f"{path}: {unknown(kind, given, choices)}"
    return f"{path} is {as_written(given)}: it must be one of {', '.join(choices)}"


def _plain(limit: Any) -> Any:
    return int(limit) if isinstance(limit, float) and limit.is_integer() else limit


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _path(loc: Location) -> str:
    """Return the location as the user writes it: without the type of a fault, and without [branches]."""
    own = [part for at, part in enumerate(loc) if not _is_tag(loc, at)]
    return ".".join(str(part) for part in own)


def _is_tag(loc: Location, at: int) -> bool:
    """Whether a part is pydantic's own: a branch of a union, or the type of the fault before it."""
    part = loc[at]
    if isinstance(part, str) and part.startswith("["):
        return True
    return part in TYPES and (at == 0 or (at == 2 and isinstance(loc[1], int)))


def _section(model: type[BaseModel], name: int | str) -> type[BaseModel] | None:
    field = model.model_fields.get(str(name))
    annotation = None if field is None else field.annotation
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
