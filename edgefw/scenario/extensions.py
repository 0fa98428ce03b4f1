"""Which classes of other packages a scenario's run is made of."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from edgefw.core.agent import ALGORITHMS
from edgefw.delays.registry import TYPES
from edgefw.errors import RecordError
from edgefw.plugins import Origin
from edgefw.problem.datasets import SOURCES, is_extension
from edgefw.problem.feasible import SETS
from edgefw.problem.loss import LOSSES
from edgefw.scenario.plan import place

if TYPE_CHECKING:
    from edgefw.scenario.model import Scenario


def origins(scenario: Scenario) -> dict[str, Origin]:
    """Return where each comes from that is not built in, by the field that names it."""
    named = {
        "algorithm.name": ALGORITHMS.origin(scenario.algorithm.name),
        "problem.loss": LOSSES.origin(scenario.problem.loss),
        "problem.set": SETS.origin(scenario.problem.set),
        "data.source": SOURCES.origin(source) if is_extension(source := scenario.data.source) else None,
    }
    for position, fault in enumerate(scenario.faults):
        named[f"{place(scenario, position)}.type"] = TYPES.origin(fault.type)
    return {field: origin for field, origin in named.items() if origin is not None}


def origins_to_json(scenario: Scenario) -> str:
    """Return them as a record keeps them."""
    return json.dumps({field: asdict(origin) for field, origin in origins(scenario).items()})


def origins_from_json(text: str) -> dict[str, Origin]:
    """Return what `origins_to_json` wrote."""
    try:
        return {field: Origin(**kept) for field, kept in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError):
        raise RecordError(f"the extensions on record are {text!r}, which say nothing of any class") from None
