"""The scenario: one file as typed (`model`), read (`load`), and resolved into what a run needs (`setup`)."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgefw.scenario.load import Overrides, Source
    from edgefw.scenario.model import Scenario


class _Scenario(ModuleType):
    """A package that can be called: `edgefw.scenario(...)` is a function of the public API."""

    def __call__(self, source: Source, overrides: Overrides = ()) -> Scenario:
        """See `load`."""
        from edgefw.scenario.load import load  # noqa: PLC0415 - it imports this package

        return load(source, overrides)


sys.modules[__name__].__class__ = _Scenario
