"""An edge-device network emulator for decentralized online learning under delayed feedback.

`__all__` is the public Python API (docs/api.md); all else may change.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgefw.api.comparing import compare
    from edgefw.api.emulating import emulate
    from edgefw.api.reporting import report
    from edgefw.api.run import Run, load_run
    from edgefw.api.simulating import simulate
    from edgefw.errors import EdgefwError
    from edgefw.records import AgentSummary, Summary
    from edgefw.reports.comparison import Comparison
    from edgefw.scenario.load import load as scenario
    from edgefw.scenario.model import Scenario
    from edgefw.verification.verdict import Verdict

    __version__: str

__all__ = [
    "AgentSummary",
    "Comparison",
    "EdgefwError",
    "Run",
    "Scenario",
    "Summary",
    "Verdict",
    "__version__",
    "compare",
    "emulate",
    "load_run",
    "report",
    "scenario",
    "simulate",
]

# Where each of them is: what it needs is loaded when it is first used, and `import edgefw` takes no time.
_PLACES = {
    "AgentSummary": "edgefw.records",
    "Comparison": "edgefw.reports.comparison",
    "EdgefwError": "edgefw.errors",
    "Run": "edgefw.api.run",
    "Scenario": "edgefw.scenario.model",
    "Summary": "edgefw.records",
    "Verdict": "edgefw.verification.verdict",
    "compare": "edgefw.api.comparing",
    "emulate": "edgefw.api.emulating",
    "load_run": "edgefw.api.run",
    "report": "edgefw.api.reporting",
    "simulate": "edgefw.api.simulating",
}


if not TYPE_CHECKING:  # for a type checker every name would be there

    def __getattr__(name: str) -> object:
        """Return a part of the API that was not used before."""
        if name == "__version__":
            return import_module("importlib.metadata").version(__name__)
        if name == "scenario":
            return import_module("edgefw.scenario")  # a package that can be called
        if name in _PLACES:
            return getattr(import_module(_PLACES[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
