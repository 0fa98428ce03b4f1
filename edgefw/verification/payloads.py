"""Whether the broker carried what the plays give: each feedback is made again, and its bytes are hashed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw.core.account import Kind
from edgefw.records import content_hash
from edgefw.transport.codec import encode_feedback
from edgefw.verification.broker import restarts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgefw.core.account import Entry
    from edgefw.core.messages import Feedback


class Payloads:
    """The payloads' hashes of the broker's account; a killed broker may not have told them all."""

    def __init__(self, account: Sequence[Entry]) -> None:
        self._last_restart = max(restarts(account), default=0)
        self._accepted = {
            (entry.agent, entry.round): entry for entry in account if entry.kind is Kind.ACCEPTED
        }
        self.mismatch: str | None = None  # the first

    def observed(self, agent: int, feedback: Feedback) -> None:
        """Compare a feedback that was made again."""
        entry = self._accepted.get((agent, feedback.round))
        if entry is None or self.mismatch is not None:
            return
        if entry.hash is None and entry.moment < self._last_restart:
            return
        found = content_hash(encode_feedback(feedback))
        if entry.hash != found:
            place = f"round {feedback.round}, agent {agent}"
            self.mismatch = f"{place}: the payload's hash is {entry.hash}, the replay's {found}"
