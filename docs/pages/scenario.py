"""The page on the scenario file: made from its model."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from edgefw.delays.manual import flow
from edgefw.delays.strict import Strict
from edgefw.scenario.model import Scenario
from pages.words import words

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = """\
# The scenario file

One YAML file describes a run. `edgefw simulate`, `edgefw up` and `edgefw compose` read the same file.
Every field may be left out. A field that does not exist is refused, with the nearest one that does.
This page is made from the models in `edgefw/scenario` by `make docs`.

```yaml
name: one-slow-device
seed: 7
network:   {agents: 8, topology: cycle}
algorithm: {name: de2mfw, horizon: 400}
clock: wall
pace: 250ms
delays:
  - {agents: [3], type: latency, latency: 800ms, jitter: 200ms}
events:
  - {at: 60s, agents: all, type: blackout, duration: 10s}
```

- Any field can be changed on the command line: `edgefw up default --set network.agents=30`.
- `edgefw scenarios list` names the scenarios that are ready-made.
- `edgefw scenarios show NAME` writes one out with all its defaults.
- `edgefw scenarios schema` prints the JSON schema. Editors use it to complete and check what you type.
- A time is a number and a unit: `750ms`, `2s`, `1.5m`.
- By the wall clock `at` and `duration` are times, or rounds that are called so: `at: 200 rounds`.
  Under the rounds clock a number is a number of rounds: `at: 200`.
- The *digest* of a run stands for its scenario, names left out. Two runs of one digest were asked for
  the same.
"""

FAULTS = "a list of [faults](faults.md)"


def page() -> str:
    """Return the page."""
    top = ["## The file", "", *_table(Scenario)]
    sections = [_section(name, model) for name, model in sections_of(Scenario).items()]
    parts = [HEAD, "\n".join(top), *sections, _faults()]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def sections_of(model: type[Strict]) -> dict[str, type[Strict]]:
    """Return the fields that have fields of their own."""
    found = {name: field.annotation for name, field in model.model_fields.items()}
    return {name: kind for name, kind in found.items() if isinstance(kind, type) and issubclass(kind, Strict)}


def _section(name: str, model: type[Strict]) -> str:
    return "\n".join([f"## `{name}`", "", inspect.getdoc(model) or "", "", *_table(model)])


def _table(model: type[Strict]) -> list[str]:
    return ["| field | written as | if left out | e.g. | meaning |", "|---|---|---|---|---|", *_rows(model)]


def _rows(model: type[Strict]) -> Iterator[str]:
    schemas, sections = model.model_json_schema()["properties"], sections_of(model)
    defaults = model().model_dump(mode="json")
    for name, field in model.model_fields.items():
        if name in sections:
            meaning = inspect.getdoc(sections[name])
            yield f"| [`{name}`](#{name}) | a section | its defaults | | {meaning} |"
        else:
            default = "" if defaults[name] is None else f"`{flow(defaults[name])}`"
            example = f"`{flow((field.examples or [None])[0])}`"
            yield f"| `{name}` | {_kind(schemas[name])} | {default} | {example} | {field.description} |"


def _kind(schema: dict[str, Any]) -> str:
    """Return what may be written in a field."""
    if "discriminator" in schema.get("items", {}):
        return FAULTS
    return " or ".join(words({key: value for key, value in schema.items() if key != "description"}))


def _faults() -> str:
    return """\
## Faults

`delays` and `events` are lists of faults. [Fault types](faults.md) has every type with its fields, its
defaults and examples. An event is a fault that says when it begins (`at`); apart from that the
two lists are the same.

Under the wall clock `at` and `duration` may be times (`90s`) or rounds (`200 rounds`). A round
is then as long as `pace` says."""
