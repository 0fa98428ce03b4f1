"""One life of a service, from its start to its end.

Every task and callback belongs to the life in whose context it was made. A life that is killed just never
runs again: no `finally`, no handler, no last word, as after SIGKILL. One that is paused runs on later.
"""

from __future__ import annotations

from contextvars import Context, ContextVar, copy_context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio


class Life:
    """What the loop has to know about one life of a service."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dead = self.paused = False
        self.steps = 0
        self.tasks: set[asyncio.Task[Any]] = set()  # all that it ever made, but for those that ended
        self.held: list[Any] = []  # what came while it was paused, or dead

    def __repr__(self) -> str:
        return self.name

    def takes(self, handle: Any) -> bool:
        """Whether a callback of this life may run now; else it is kept.

        Also of a dead one: its tasks can only be disposed of by letting them end, when all is over.
        """
        if self.dead or self.paused:
            self.held.append(handle)
            return False
        return True

    def living_tasks(self) -> set[asyncio.Task[Any]]:
        """Return the tasks that have not ended."""
        self.tasks = {task for task in self.tasks if not task.done()}
        return self.tasks

    def context(self) -> Context:
        """Return a context in which all that is made belongs to this life."""
        context = copy_context()
        context.run(LIFE.set, self)
        return context


LIFE: ContextVar[Life | None] = ContextVar("life", default=None)
