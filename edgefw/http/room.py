"""Room for so many connections: newcomers get in, and whoever is needed least gives way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator


class Ending(Protocol):
    """What can be ended at once."""

    def abort(self) -> None:
        """End it; what was not sent yet is lost."""


T = TypeVar("T", bound=Ending)


class Room(Generic[T]):
    """The connections of a server. Who idles goes before who is being answered, who came first goes first.

    Without a bound, a client that opens connections and says nothing takes every file that the process may
    open; with one that refuses newcomers, it locks everyone else out.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._idle: dict[T, None] = {}
        self._busy: dict[T, None] = {}

    def __len__(self) -> int:
        return len(self._idle) + len(self._busy)

    def __iter__(self) -> Iterator[T]:
        return iter((*self._idle, *self._busy))

    def enter(self, connection: T) -> None:
        """Take a connection in; where there is no room another one is ended for it."""
        if len(self) >= self._most:
            least = next(iter(self._idle or self._busy))
            self.leave(least)
            least.abort()
        self._idle[connection] = None

    def mark(self, connection: T, *, busy: bool) -> None:
        """Note whether a connection is being answered."""
        before, after = (self._idle, self._busy) if busy else (self._busy, self._idle)
        if connection in before:
            del before[connection]
            after[connection] = None

    def leave(self, connection: T) -> None:
        """Forget a connection that is over."""
        self._idle.pop(connection, None)
        self._busy.pop(connection, None)

    def clear(self) -> None:
        """End every connection."""
        for connection in self:
            self.leave(connection)
            connection.abort()
