"""Serving a run while somebody watches whether there is another."""

from __future__ import annotations

import asyncio

import pytest

from edgefw.services.broker.process import watched


def test_whoever_watches_ends_with_what_it_watches_and_its_errors_are_told() -> None:
    async def test() -> None:
        over, begun, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def serve() -> None:
            await over.wait()

        async def fail() -> None:
            over.set()
            raise ValueError("no run like this")

        async def watch() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        with pytest.raises(ValueError, match="no run like this"):
            await watched(serve(), fail())
        over.clear()
        serving = asyncio.create_task(watched(serve(), watch()))
        await begun.wait()
        over.set()
        await serving
        assert ended.is_set()

    asyncio.run(test())
