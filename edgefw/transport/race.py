"""Work side by side, such as the two halves of a stream: the first to end decides for all."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


async def race(*work: Coroutine[Any, Any, T]) -> T:
    """Return or raise what the first to end comes to; of several, the one that is named first.

    The others are cancelled, and have ended when this returns. What they end with is not told: halves of a
    stream break together, of the same cause.
    """
    tasks = [asyncio.create_task(each) for each in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(task for task in tasks if task.done()).result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
