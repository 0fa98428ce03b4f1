"""A page that is asked without a network: its app, called as a server would."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.page.about import about
from edgefw.page.app import PageApp
from edgefw.page.groups import grouped
from edgefw.page.story import Story
from edgefw.page.telling import Teller
from edgefw.scenario.model import Scenario
from edgefw.scenario.setup import graph_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message


def scenario(agents: int = 3, rounds: int = 400, **more: Any) -> Scenario:
    document = {"network": {"agents": agents}, "algorithm": {"horizon": rounds}, **more}
    return Scenario.model_validate({"clock": "rounds", **document})


_scenario = scenario


def story(agents: int = 3, rounds: int = 10, **more: Any) -> Story:
    """Return a story of some rounds in which nothing is late."""
    told = Story(scenario(agents, **more), accounted=False)
    go_on(told, rounds)
    return told


def go_on(told: Story, rounds: int) -> None:
    for _ in range(rounds):
        t = told.rounds + 1
        losses = 1.0 / t + np.arange(told.n) / 10
        told.take_round(losses, [(t - 1,) if t > 1 else ()] * told.n, [1] * told.n)


def app(
    told: Story,
    admin: ASGIApp | None = None,
    prepared: bytes = b"{}",
    scenario: Scenario | None = None,
) -> PageApp:
    async def prepare() -> bytes:
        return prepared

    shown = scenario or _scenario(told.n)
    groups = grouped(graph_of(shown))
    whole = None if len(groups) == told.n else groups
    teller = Teller(lambda: told, "run", whole, lambda: {"phase": "running"})
    return PageApp(partial(about, shown, live=True), teller, prepare, admin)


@dataclass
class Exchange:
    """One request to an app, and what has been answered so far."""

    app: ASGIApp
    path: str = "/"
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    status: int = 0
    given: dict[str, str] = field(default_factory=dict)
    content: bytes = b""

    def __post_init__(self) -> None:
        self.gone, self.news, self._asked = asyncio.Event(), asyncio.Event(), False

    async def run(self) -> Exchange:
        scope = {
            "type": "http",
            "method": self.method,
            "path": self.path,
            "raw_path": self.path.encode(),
            "query_string": b"",
            "headers": [(name.lower().encode(), value.encode()) for name, value in self.headers.items()],
        }
        await self.app(scope, self._receive, self._send)
        return self

    async def _receive(self) -> Message:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": self.body, "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.given = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self.content += message.get("body", b"")
            self.news.set()


def ask(asked: ASGIApp, path: str, method: str = "GET", body: bytes = b"", **headers: str) -> Exchange:
    """Return what an app answers."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    async def run() -> Exchange:
        return await Exchange(asked, path, method, named, body).run()

    return asyncio.run(run())
