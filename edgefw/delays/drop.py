"""`drop`: feedback never comes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from edgefw.delays.fault import Fault

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgefw.delays.fault import Seen


class Drop(Fault):
    """Feedback never comes."""

    examples = ({"type": "drop", "probability": 0.1},)

    type: Literal["drop"] = "drop"

    def takes(self, seen: Seen) -> NDArray[np.bool_]:
        """Take all that it acts on."""
        return np.ones(len(seen.rounds), dtype=np.bool_)
