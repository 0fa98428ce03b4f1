"""A page that is served in a thread of its own, at `url`, while the test changes its story."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from waiting import PATIENCE

from edgefw.http.guard import Guard
from edgefw.http.server import HttpServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from edgefw.page.app import PageApp


class Served:
    """A page; what changes its story is called in its loop."""

    def __init__(self, app: PageApp) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._server = HttpServer(Guard(app, names=frozenset()), "127.0.0.1", 0, ending=app.close)
        self.url = f"http://127.0.0.1:{self._do(self._server.start())}/"

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        async def run() -> Any:
            return function(*arguments)

        return self._do(run())

    def stop(self) -> None:
        self._do(self._server.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)


@contextmanager
def serving(app: PageApp) -> Iterator[Served]:
    """Serve a page while the block runs."""
    served = Served(app)
    try:
        yield served
    finally:
        served.stop()
