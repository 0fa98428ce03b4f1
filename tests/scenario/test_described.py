"""Every field of a scenario says what it means, with an example that is accepted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from edgefw.delays.strict import Strict
from edgefw.scenario.load import load
from edgefw.scenario.model import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic.fields import FieldInfo


def _fields(model: type[Strict], above: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Strict):
            yield from _fields(kind, f"{above}{name}.")
        else:
            yield f"{above}{name}", field


FIELDS = dict(_fields(Scenario))
each_field = pytest.mark.parametrize("name", FIELDS)


@each_field
def test_a_field_says_what_it_means_in_whole_sentences(name: str) -> None:
    text = FIELDS[name].description or ""
    assert len(text) > 20
    assert text.endswith(".")
    assert "|" not in text, "it stands in a table"


@each_field
def test_the_example_of_a_field_is_accepted(name: str) -> None:
    (example,) = FIELDS[name].examples or [None]
    written = load("playground", [f"{name}={json.dumps(example)}"]).model_dump(
        mode="json", exclude_unset=True
    )
    for part in name.split("."):
        written = written[part]
    assert written == example
