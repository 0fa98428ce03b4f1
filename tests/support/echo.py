"""A helper's program that says back what it is asked; `on` again and again, until a newer request waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw.services.machine import be_helper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Echo:
    """It begins with `ready`, and fails where it is asked to."""

    def __init__(self, asked: Callable[[], bool], now: Callable[[], float]) -> None:
        self._asked, self._begun, self._now = asked, now(), now

    def begin(self) -> Iterator[str]:
        assert self._now() >= self._begun
        yield "ready"

    def answer(self, request: str) -> Iterator[str]:
        words = request.split()
        if words == ["fail"]:
            raise ZeroDivisionError
        yield from words
        while words == ["on"] and not self._asked():
            yield "on"


if __name__ == "__main__":
    be_helper(Echo, 0)
