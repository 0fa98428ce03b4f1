"""Whether the broker carried what the plays give: each feedback is made again, and its bytes are hashed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw.core.account import Kind
from edgefw.records import content_hash
from edgefw.transport.codec import encode_feedback
from edgefw.verification.untold import Untold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgefw.core.account import Entry
    from edgefw.core.messages import Feedback


class Payloads:
    """The payloads' hashes of the broker's account; a killed broker may not have told them all."""

    def __init__(self, account: Sequence[Entry]) -> None:
        self._untold = Untold(account)
        self._accepted = {
            (entry.agent, entry.round): entry for entry in account if entry.kind is Kind.ACCEPTED
        }
        self.mismatch: str | None = None  # the first

    def observed(self, agent: int, feedback: Feedback, norm: float) -> None:
        """Compare a feedback that was made again, and the norm that the broker ranked it by."""
        entry = self._accepted.get((agent, feedback.round))
        if entry is None or self.mismatch is not None:
            return
        if entry.hash is None and self._untold.covers(entry.moment):
            return
        found = content_hash(encode_feedback(feedback))
        if entry.hash != found:
            place = f"round {feedback.round}, agent {agent}"
            self.mismatch = f"{place}: the payload's hash is {entry.hash}, the replay's {found}"
        elif entry.norm != norm:
            place = f"round {feedback.round}, agent {agent}"
            self.mismatch = f"{place}: the gradient's norm is {entry.norm}, the replay's {norm}"
