"""What a link is: the way of one kind of message from one place to another."""

from __future__ import annotations

from typing import NamedTuple

FEEDBACK = "feedback"
_KINDS = (FEEDBACK, "gossip")


class LinkId(NamedTuple):
    """A link: feedback of an agent (through the broker, back to itself), or gossip from one peer to another.

    Plans and holds number their links; those of feedback have the numbers of their agents.
    """

    kind: str
    source: int
    target: int

    @property
    def key(self) -> tuple[int, ...]:
        """What tells its random numbers from those of other links."""
        return (
            (self.source,) if self.kind == FEEDBACK else (self.source, self.target, _KINDS.index(self.kind))
        )


def feedback_links(n: int) -> tuple[LinkId, ...]:
    """Return the links of the feedback of n agents.

    >>> feedback_links(2)[1]
    LinkId(kind='feedback', source=1, target=1)
    """
    return tuple(LinkId(FEEDBACK, agent, agent) for agent in range(n))
