"""The admin endpoint as an app: its calls behind the guard, one shape for its errors, and its server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.routing import Match, Route

from edgefw.errors import EdgefwError, ExistsError, InputError, JournalFullError, UnknownError
from edgefw.http.answers import failure
from edgefw.http.guard import Guard, is_loopback
from edgefw.http.listening import listen_tcp
from edgefw.http.server import HttpServer
from edgefw.services.broker.admin.handlers import Handlers
from edgefw.services.broker.admin.openapi import CALLS
from edgefw.services.machine import REAL

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from edgefw.http.answers import Answer
    from edgefw.http.connection import Bounds
    from edgefw.http.listening import Listen
    from edgefw.services.broker.steering import Steering
    from edgefw.services.machine import Machine

_STATUS: tuple[tuple[type[EdgefwError], int], ...] = (
    (UnknownError, 404),
    (ExistsError, 409),
    (JournalFullError, 507),
)


@dataclass(frozen=True)
class AdminOptions:
    """Where the endpoint listens, and to whom: `names` are host names that it may be called by."""

    host: str
    port: int
    token: str | None = None
    names: frozenset[str] = frozenset()
    open_: bool = False

    def found_at(self, advertise: str) -> str:
        """Return where it is, host:port; `advertise` is where others reach the broker, likewise."""
        host = self.host if is_loopback(self.host) else advertise.rpartition(":")[0]
        return f"{host}:{self.port}"


def make_server(
    control: Steering,
    options: AdminOptions,
    bounds: Bounds | None = None,
    machine: Machine = REAL,
    listen: Listen = listen_tcp,
) -> HttpServer:
    """Return a server of the endpoint, if it may listen there."""
    check_listen(options.host, token=options.token, open_=options.open_)
    app = make_app(control, token=options.token, names=options.names, machine=machine)
    return HttpServer(app, options.host, options.port, bounds, control.events.close, listen)


def check_listen(host: str, *, token: str | None, open_: bool) -> None:
    """Refuse to listen where strangers could change delays."""
    if not (is_loopback(host) or token or open_):
        raise InputError(
            f"the admin endpoint would listen on {host}, where others can reach it: give it a token "
            "(EDGEFW_ADMIN_TOKEN or EDGEFW_ADMIN_TOKEN_FILE), keep it on 127.0.0.1, or say --admin-open"
        )


def make_app(
    control: Steering, *, token: str | None, names: frozenset[str], machine: Machine = REAL
) -> Guard:
    """Return the endpoint of a broker; `names` are host names that it may be called by."""
    handlers = Handlers(control, machine, token=token is not None)
    routes = [_route(call.verb, call.path, getattr(handlers, call.handler)) for call in CALLS]
    routes.append(_route("GET", "/openapi.json", handlers.document))
    routes.append(_route("GET", "/docs/{name}", handlers.asset))
    refusals: Any = {  # what they return is called, as ASGI says: it need not be a Response
        EdgefwError: _refused,
        HTTPException: _not_there,
        ClientDisconnect: _nobody_there,
        500: _failed,
    }
    app = Starlette(routes=routes, exception_handlers=refusals)
    app.router.redirect_slashes = False
    return Guard(app, names=names, token=token)


def _route(verb: str, path: str, handler: Callable[[Request], Awaitable[Any]]) -> Route:
    route = Route(path, handler)
    route.methods = {verb}  # without the HEAD that comes with every GET
    return route


async def _refused(_request: Request, error: Exception) -> Answer:
    status = next((code for kind, code in _STATUS if isinstance(error, kind)), 400)
    return failure(getattr(error, "status", status), str(error), getattr(error, "field", None))


async def _not_there(request: Request, error: Exception) -> Answer:
    if getattr(error, "status_code", 404) != 405:
        return failure(404, f"there is no {request.url.path}: see /docs")
    verbs = {verb for route in request.app.routes if _is_for(route, request) for verb in route.methods}
    headers = {"Allow": ", ".join(sorted(verbs))}
    return failure(405, f"{request.method} is not for {request.url.path}", headers=headers)


def _is_for(route: Route, request: Request) -> bool:
    return route.matches(request.scope)[0] is not Match.NONE


async def _nobody_there(_request: Request, _error: Exception) -> Answer:
    return failure(400, "the request ended before its body did")


async def _failed(_request: Request, _error: Exception) -> Answer:
    return failure(500, "the broker failed at this: its log says how")
