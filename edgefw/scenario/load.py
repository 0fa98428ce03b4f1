"""From a name or a path, and `--set` overrides, to a validated scenario; every mistake in one line."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from edgefw.delays.explain import explained
from edgefw.delays.units import as_written
from edgefw.errors import InputError, unknown
from edgefw.scenario.model import Scenario
from edgefw.scenario.trace import resolve_traces

_LIBRARY = resources.files("edgefw") / "scenarios"

Source = str | os.PathLike[str] | Mapping[str, Any] | Scenario
Overrides = Sequence[str] | Mapping[str, Any]


def names() -> list[str]:
    """Return the names of the ready-made scenarios."""
    return sorted(
        entry.name.removesuffix(".yaml") for entry in _LIBRARY.iterdir() if entry.name.endswith(".yaml")
    )


def describe(name: str) -> str:
    """Return what a ready-made scenario is about: the first comment of its file."""
    return _library_text(name).splitlines()[0].removeprefix("# ")


def what_to_watch(name: str) -> str:
    """Return what to look at in a run of a ready-made scenario: the second comment of its file."""
    return _library_text(name).splitlines()[1].removeprefix("# Watch: ")


def load(source: Source, overrides: Overrides = ()) -> Scenario:
    """Return a scenario: a ready-made one by its name, one in a file, one as a mapping, or one to be changed.

    Overrides set single fields: `{"network.agents": 30}` or, as on the command line, `["network.agents=30"]`.
    """
    name = _name(source)
    document = _document(source, name)
    for path, value, written in _settings(overrides):
        _apply(document, path, value, written)
    try:
        document = resolve_traces(document, _folder(name))
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    return validate(document, source=name)


def from_environment() -> Scenario:
    """Return the scenario whose text is in EDGEFW_SCENARIO: how a container is given one."""
    text = os.environ.get("EDGEFW_SCENARIO")
    if not text:
        raise InputError("there is no scenario: give --scenario, or its text in EDGEFW_SCENARIO")
    return parse(text, "EDGEFW_SCENARIO")


def parse(text: str, source: str) -> Scenario:
    """Return the scenario that a text describes; `source` is what to call it in an error."""
    return validate(_parse(text, source), source=source)


def validate(document: Mapping[str, Any], *, source: str) -> Scenario:
    """Return the scenario that a parsed document describes."""
    try:
        return Scenario.model_validate(document)
    except ValidationError as error:
        raise InputError(f"{source}: {explained(error, Scenario)}") from None


def dump(scenario: Scenario) -> str:
    """Return the scenario as YAML, with every default written out; `load` reads it back."""
    text: str = yaml.dump(scenario.model_dump(mode="json"), Dumper=_Dumper, sort_keys=False)
    return text


def dump_brief(scenario: Scenario) -> str:
    """Return the scenario as a person would write it: a section a line, most defaults left out."""
    whole = scenario.model_dump(mode="json", exclude_none=True)
    changed = scenario.model_dump(mode="json", exclude_defaults=True)
    for section in ("network", "data", "problem", "algorithm", "clock", "pace"):
        changed[section] = _without_nothing(whole[section])
    for section in {
        "delays",
        "events",
    } & changed.keys():  # a fault's type is its class's default, yet never left out
        faults = zip(whole[section], changed[section], strict=True)
        changed[section] = [{"type": fault["type"]} | brief for fault, brief in faults]
    content = {key: changed[key] for key in whole if key in changed}
    text: str = yaml.dump(content, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=1000)
    return text


def _without_nothing(section: Any) -> Any:
    """Return a section without parameters that nobody gave."""
    if not isinstance(section, dict):
        return section
    return {key: value for key, value in section.items() if value != {}}


class _Once(yaml.constructor.SafeConstructor):
    """What makes values of YAML: a field that is given twice is a mistake."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - PyYAML's signature
        """Return the mapping, whose keys must differ."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"{key.value!r} is given twice", problem_mark=key.start_mark
                )
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


class _Loader(_Once, yaml.SafeLoader):
    """YAML as people expect it: 1e-3 is a number. In Python: it has the better words for a mistake."""


class _FastLoader(_Once, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The same by libyaml, where PyYAML was built with it: every service reads a scenario when it starts."""


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Its counterpart: quotes a text that they would take for a number."""


for _side in (_Loader, _FastLoader, _Dumper):
    # As in YAML 1.2: PyYAML's own floats have a point and a signed exponent, and 1e-3 is a text to it.
    _side.add_implicit_resolver(
        "tag:yaml.org,2002:float",
        re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
        list("-+.0123456789"),
    )


def _name(source: Source) -> str:
    """Return what to call a source in an error."""
    return os.fspath(source) if isinstance(source, str | os.PathLike) else "the scenario"


def _document(source: Source, name: str) -> dict[str, Any]:
    """Return the fields of a source, to be changed at will."""
    if isinstance(source, Scenario):
        return source.model_dump(mode="json")
    return deepcopy(dict(source)) if isinstance(source, Mapping) else _parse(_read(name), name)


def _read(name_or_path: str) -> str:
    if name_or_path in names():
        return _library_text(name_or_path)
    path = Path(name_or_path)
    if not name_or_path or (path.suffix not in {".yaml", ".yml"} and not path.exists()):
        raise unknown("scenario", name_or_path, names())
    known = f"give a scenario file or one of {', '.join(names())}"
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"there is no file {path}: {known}") from None
    except IsADirectoryError:
        raise InputError(
            f"{path} is a folder (a run keeps its scenario in {path}/scenario.yaml): {known}"
        ) from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not text: {known}") from None
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror}): {known}") from None


def _folder(name_or_path: str) -> Path:
    """Return where the paths in a scenario begin: with its file; of one without a file, here."""
    return Path() if name_or_path in names() else Path(name_or_path).parent


def _library_text(name: str) -> str:
    return (_LIBRARY / f"{name}.yaml").read_text(encoding="utf-8")


def _parse(text: str, source: str) -> dict[str, Any]:
    try:
        document = _value(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be read"
        raise InputError(f"{source}: not valid YAML{where}: {problem}") from None
    except ValueError as error:  # such as a date that does not exist
        raise InputError(f"{source}: not valid YAML: {error}") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise InputError(f"{source}: a scenario is a mapping of fields such as network, data, algorithm")
    return document


def _value(text: str) -> Any:
    return deepcopy(_read_once(text))  # whoever asks may change it


@lru_cache(8)
def _read_once(text: str) -> Any:
    """Return what a text says; services of one process read the same."""
    try:
        return yaml.load(text, _FastLoader)  # noqa: S506 - it is a SafeLoader
    except (yaml.YAMLError, ValueError):
        return yaml.load(text, _Loader)  # noqa: S506 - as well


def _settings(overrides: Overrides) -> Iterator[tuple[str, Any, str]]:
    """Yield the path of every field to set, its value, and how that was written."""
    if isinstance(overrides, Mapping):
        for path, value in overrides.items():
            yield path, value, f"{path}={as_written(value)}"
        return
    for override in overrides:
        path, equals, text = override.partition("=")
        written = f"--set {override}"
        if not equals:
            raise _unreadable(written)
        yield path, parse_value(text, written), written


def _unreadable(written: str) -> InputError:
    return InputError(f"{written}: write it as field=value, such as network.agents=30")


def _apply(document: dict[str, Any], path: str, value: Any, written: str) -> None:
    """Set one field, a.b; a number in the path is a place in a list."""
    parts = path.split(".")
    if not all(parts):
        raise _unreadable(written)
    place: Any = document
    for depth, part in enumerate(parts[:-1]):
        key = _key(place, parts[:depth], part, written)
        if isinstance(place, dict) and place.get(part) is None:
            place[part] = [] if parts[depth + 1].isdecimal() else {}  # a section that was left out
        place = place[key]
    place[_key(place, parts[:-1], parts[-1], written)] = value


def _key(place: Any, above: Sequence[str], part: str, written: str) -> int | str:
    """Return what to index `place`, the value of field `above`, with."""
    field = ".".join(above)
    if isinstance(place, dict):
        return part
    if not isinstance(place, list):
        raise InputError(f"{written}: {field} is {as_written(place)}, which has no field {part!r} to set")
    if not part.isdecimal() or int(part) >= len(place):
        there = f"there are {field}.0 to {field}.{len(place) - 1}" if place else f"{field} is empty"
        raise InputError(
            f"{written}: there is no {field}.{part}: {there}; to add one give the whole list, {field}=[...]"
        )
    return int(part)


def parse_value(text: str, written: str) -> Any:
    """Return the value of a field that is `written` on the command line: it is read as YAML."""
    try:
        return _value(text)
    except (yaml.YAMLError, ValueError):
        raise InputError(f"{written}: {text!r} is not valid YAML") from None
