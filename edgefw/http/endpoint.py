"""What every service answers: /metrics for Prometheus, /healthz for whoever asks.

The observer, who knows everyone, also has /targets: where Prometheus finds the others.
"""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, Any

from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from edgefw.http.answers import JSON, TEXT, Answer, failure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from prometheus_client import CollectorRegistry, Metric
    from starlette.types import ASGIApp, Receive, Scope, Send

    Route = Callable[[], Awaitable[Answer]]
    Targets = Callable[[], list[dict[str, Any]]]


class Routes:
    """An app that answers GET at a few paths. All others are for `otherwise`, or answered with 404."""

    def __init__(self, routes: Mapping[str, Route], otherwise: ASGIApp | None = None) -> None:
        self._routes, self._otherwise = routes, otherwise

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await (await self._find(scope))(scope, receive, send)

    async def _find(self, scope: Scope) -> ASGIApp:
        route = self._routes.get(scope["path"])
        if route is None:
            there = ", ".join(self._routes)
            return self._otherwise or failure(404, f"there is no {scope['path']}: there are {there}")
        if scope["method"] != "GET":
            return failure(405, f"{scope['method']} is not for {scope['path']}", headers={"Allow": "GET"})
        return await route()


def service_routes(
    registry: CollectorRegistry,
    healthy: Callable[[], bool],
    targets: Targets | None = None,
    otherwise: ASGIApp | None = None,
) -> Routes:
    """Return the routes of a service."""
    routes: dict[str, Route] = {
        "/metrics": partial(show_metrics, registry),
        "/healthz": partial(_health, healthy),
    }
    if targets is not None:
        routes["/targets"] = partial(_show_targets, targets)
    return Routes(routes, otherwise)


async def show_metrics(registry: CollectorRegistry) -> Answer:
    """Return metrics in Prometheus' format, made one family a turn: what is due need not wait for all."""
    pieces = []
    for family in registry.collect():
        pieces.append(generate_latest(_One(family)))
        await asyncio.sleep(0)
    return Answer(b"".join(pieces), content_type=CONTENT_TYPE_LATEST)


async def _health(healthy: Callable[[], bool]) -> Answer:
    return Answer(b"ok\n", 200, TEXT) if healthy() else Answer(b"not ready\n", 503, TEXT)


async def _show_targets(targets: Targets) -> Answer:
    return Answer(json.dumps(targets()).encode(), content_type=JSON)


class _One:
    """A registry of one family."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> list[Metric]:
        return [self._family]
