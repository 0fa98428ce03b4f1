"""An agent between two rounds, as plain values: what a checkpoint has in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgefw.core.algorithm import State
    from edgefw.services.agent.sealed import Sealed

_CORE, _REPORT, _SUBMISSION = "core", "report", "submission"


class Submission(NamedTuple):
    """Feedback as it is handed to the broker: its bytes, and the norm of the gradient at the play."""

    payload: bytes
    norm: float


@dataclass(frozen=True)
class Snapshot:
    """All that an agent has to remember; `reports` and `submissions` are those that were not answered."""

    core: State
    inbox: dict[str, Any]
    submissions: Mapping[int, Submission]
    reports: Mapping[int, bytes]
    messages: int
    sent_bytes: int

    def parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return it as words and arrays, to be sealed."""
        words = {
            "inbox": self.inbox,
            "norms": {s: submission.norm for s, submission in self.submissions.items()},
            "messages": self.messages,
            "bytes": self.sent_bytes,
        }
        arrays = {f"{_CORE}/{name}": np.asarray(array) for name, array in self.core.items()}
        arrays |= {f"{_REPORT}/{t}": as_bytes(report) for t, report in self.reports.items()}
        arrays |= {f"{_SUBMISSION}/{s}": as_bytes(each.payload) for s, each in self.submissions.items()}
        return words, arrays


def opened(sealed: Sealed) -> Snapshot:
    """Return the snapshot that was sealed."""
    words, kinds = sealed.words, dict[str, dict[str, NDArray[Any]]]()
    for name, array in sealed.arrays.items():
        kind, _, rest = name.partition("/")
        kinds.setdefault(kind, {})[rest] = array
    norms = {int(s): norm for s, norm in words["norms"].items()}
    return Snapshot(
        kinds.get(_CORE, {}),
        words["inbox"],
        {int(s): Submission(a.tobytes(), norms[int(s)]) for s, a in kinds.get(_SUBMISSION, {}).items()},
        {int(t): array.tobytes() for t, array in kinds.get(_REPORT, {}).items()},
        words["messages"],
        words["bytes"],
    )


def as_bytes(content: bytes) -> NDArray[np.uint8]:
    """Return bytes as an array."""
    return np.frombuffer(content, np.uint8)
