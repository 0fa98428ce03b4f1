"""How much work something is, counted and not timed: the same on every machine."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def steps(function: Callable[[], object]) -> int:
    """Return how many lines of Python run while a function does; a line of a loop counts each time."""
    count = 0

    def trace(_frame: object, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    gc.collect()
    gc.disable()  # what a collection calls, of whatever was left behind, would be counted too
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
        gc.enable()
    return count
