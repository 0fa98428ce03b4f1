"""From a name or a path, and `--set` overrides, to a validated scenario; every mistake in one line."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import BaseModel, ValidationError

from edgefw.errors import InputError, unknown
from edgefw.scenario.model import Scenario

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_LIBRARY = resources.files("edgefw") / "scenarios"


def names() -> list[str]:
    """Return the names of the ready-made scenarios."""
    return sorted(
        entry.name.removesuffix(".yaml") for entry in _LIBRARY.iterdir() if entry.name.endswith(".yaml")
    )


def describe(name: str) -> str:
    """Return what a ready-made scenario is about: the first comment of its file."""
    return _library_text(name).splitlines()[0].removeprefix("# ")


def load(name_or_path: str, overrides: Sequence[str] = ()) -> Scenario:
    """Return the ready-made scenario of that name, or the one in that file, overrides `a.b=c` applied."""
    document = _parse(_read(name_or_path), name_or_path)
    for override in overrides:
        _apply(document, override)
    return validate(document, source=name_or_path)


def validate(document: Mapping[str, Any], *, source: str) -> Scenario:
    """Return the scenario that a parsed document describes."""
    try:
        return Scenario.model_validate(document)
    except ValidationError as error:
        raise InputError(f"{source}: {explain(error)}") from None


def dump(scenario: Scenario) -> str:
    """Return the scenario as YAML, with every default written out; `load` reads it back."""
    return yaml.safe_dump(scenario.model_dump(mode="json"), sort_keys=False)


def explain(error: ValidationError) -> str:
    """Return the first mistake that pydantic found as one line: the field, the value, what is allowed."""
    details = error.errors(include_url=False)
    first = _line(details[0])
    more = len(details) - 1
    return first if not more else f"{first} (and {more} more)"


def _line(detail: ErrorDetails) -> str:
    # A union's branches ("function-before[...]") stand in the location; users wrote none of them.
    path = ".".join(str(part) for part in detail["loc"] if not (isinstance(part, str) and "[" in part))
    if detail["type"] == "extra_forbidden":
        return f"{path}: unknown field{_nearest_field(detail['loc'])}"
    message = detail["msg"].removeprefix("Value error, ")
    message = message[0].lower() + message[1:] if message else message
    value = detail["input"]
    shown = "" if isinstance(value, Mapping | list) or detail["type"] == "missing" else f" (got {value!r})"
    return f"{path}: {message}{shown}" if path else f"{message}{shown}"


def _nearest_field(loc: tuple[int | str, ...]) -> str:
    """Return a hint at the field that was meant, looking down the models along the location."""
    model: type[BaseModel] = Scenario
    for part in loc[:-1]:
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return ""
        model = annotation
    near = difflib.get_close_matches(str(loc[-1]), list(model.model_fields), n=1)
    return f": did you mean {near[0]!r}?" if near else f"; allowed: {', '.join(model.model_fields)}"


def _read(name_or_path: str) -> str:
    if name_or_path in names():
        return _library_text(name_or_path)
    path = Path(name_or_path)
    if path.suffix not in {".yaml", ".yml"} and not path.exists():
        raise unknown("scenario", name_or_path, names())
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            f"there is no file {path}: give a scenario file or one of {', '.join(names())}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from None


def _library_text(name: str) -> str:
    return (_LIBRARY / f"{name}.yaml").read_text(encoding="utf-8")


def _parse(text: str, source: str) -> dict[str, Any]:
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        raise InputError(f"{source}: not valid YAML{where}: {getattr(error, 'problem', error)}") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise InputError(f"{source}: a scenario is a mapping of fields such as network, data, algorithm")
    return document


def _apply(document: dict[str, Any], override: str) -> None:
    """Set one field, `a.b=c`; c is read as YAML, a number in the path is a place in a list."""
    path, equals, text = override.partition("=")
    if not equals or not path:
        raise InputError(f"--set {override}: write it as field=value, such as network.agents=30")
    *parents, last = path.split(".")
    place: Any = document
    for part in parents:
        place = _child(place, part, override)
    _assign(place, last, _parse_value(text, override), override)


def _child(place: Any, part: str, override: str) -> Any:
    if isinstance(place, list):
        return place[_position(place, part, override)]
    if not isinstance(place, dict):
        raise InputError(f"--set {override}: {part!r} is below a value that has no fields")
    return place.setdefault(part, {})


def _assign(place: Any, last: str, value: Any, override: str) -> None:
    if isinstance(place, list):
        place[_position(place, last, override)] = value
    elif isinstance(place, dict):
        place[last] = value
    else:
        raise InputError(f"--set {override}: {last!r} is below a value that has no fields")


def _position(place: list[Any], part: str, override: str) -> int:
    if not part.isdecimal() or int(part) >= len(place):
        raise InputError(
            f"--set {override}: {part!r} is not a place in a list of {len(place)} (they count from 0)"
        )
    return int(part)


def _parse_value(text: str, override: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise InputError(f"--set {override}: {text!r} is not valid YAML") from None
