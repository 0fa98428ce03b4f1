"""Work side by side, such as the two halves of a stream: the first to end decides for all."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine

T = TypeVar("T")

LAST_WRITE = 1.0  # seconds for a write that is under way when a stream ends


async def race(*work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the first piece of work that ends, or raise its error.

    If several end together, the one that is named first counts. The others are cancelled and have ended when
    this returns. Their errors are not told: the halves of a stream break together, for the same reason.
    """
    tasks = [asyncio.create_task(each) for each in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(task for task in tasks if task.done()).result()
    finally:
        await end_all(tasks)


async def watched(serving: Coroutine[Any, Any, None], watching: Coroutine[Any, Any, None]) -> None:
    """Run `serving` to its end with `watching` beside it, and raise an error of the one that watches."""
    watcher = asyncio.create_task(watching)
    try:
        await serving
    finally:
        watcher.cancel()
        await asyncio.wait({watcher})
    if not watcher.cancelled():
        watcher.result()


async def converse(
    reading: Coroutine[Any, Any, None], writing: Coroutine[Any, Any, None], hang_up: Callable[[], object]
) -> None:
    """Serve both halves of a stream until one of them ends, and raise what it ended with.

    `hang_up` then asks the writing to end as well. It is not cancelled at once: gRPC cannot end a call with a
    status while a write of it is under way.
    """
    read, write = asyncio.create_task(reading), asyncio.create_task(writing)
    try:
        await asyncio.wait({read, write}, return_when=asyncio.FIRST_COMPLETED)
        hang_up()
        await asyncio.wait({write}, timeout=LAST_WRITE)
        (read if read.done() else write).result()
    finally:
        await end_all([read, write])


async def end_all(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel tasks; they have ended when this returns."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
