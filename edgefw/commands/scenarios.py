"""`edgefw scenarios`: what there is to run, one of them whole, and the schema of the file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.scenario.load import describe, dump, load, names
from edgefw.scenario.model import Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence


def list_all() -> None:
    """Print the ready-made scenarios."""
    terminal.table(
        "ready-made scenarios", ["name", "what it is about"], [[name, describe(name)] for name in names()]
    )


def show(name: str, overrides: Sequence[str]) -> None:
    """Print a scenario with every default written out."""
    print(dump(load(name, overrides)), end="")  # noqa: T201 - plain, to be redirected into a file


def schema() -> None:
    """Print the JSON schema of a scenario file."""
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Scenario.model_json_schema()}
    print(json.dumps(document, indent=2))  # noqa: T201
