"""What the faults of a scenario may be together: an InputError says what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw.errors import InputError
from edgefw.scenario.plan import place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgefw.delays.fault import Fault
    from edgefw.scenario.model import Scenario


def check_names(delays: Sequence[Fault], events: Sequence[Fault]) -> None:
    """Refuse two faults of one name; one without is called by its place."""
    seen: dict[str, str] = {}
    for where, faults in (("delays", delays), ("events", events)):
        for position, fault in enumerate(faults):
            here, name = f"{where}.{position}", fault.name or f"{where}-{position}"
            if name in seen:
                raise InputError(f"{here} and {seen[name]} are both named {name!r}: give one another name")
            seen[name] = here


def check_simulable(scenario: Scenario) -> None:
    """Refuse what the emulator can do and the simulator cannot."""
    for position, fault in enumerate(scenario.faults):
        try:
            fault.check_simulable()
        except InputError as error:
            raise error.within(place(scenario, position)) from None
