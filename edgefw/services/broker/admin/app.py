"""The admin endpoint as an app: its calls, its guard, one shape for its errors."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match

from edgefw.delays.refusals import ExistsError, UnknownError
from edgefw.errors import EdgefwError, JournalFullError
from edgefw.services.broker.admin.answers import failure
from edgefw.services.broker.admin.guard import Guard
from edgefw.services.broker.admin.handlers import Handlers
from edgefw.services.broker.admin.openapi import ABOUT, CALLS, operation
from edgefw.services.broker.admin.schemas import components
from edgefw.services.broker.admin.server import AdminOptions, AdminServer, check_listen

if TYPE_CHECKING:
    from edgefw.services.broker.admin.views import Control

_STATUS: tuple[tuple[type[EdgefwError], int], ...] = (
    (UnknownError, 404),
    (ExistsError, 409),
    (JournalFullError, 507),
)


def make_server(control: Control, options: AdminOptions) -> AdminServer:
    """Return a server of the endpoint, if it may listen there."""
    check_listen(options.host, token=options.token, open_=options.open_)
    app = make_app(control, token=options.token, names=options.names)
    return AdminServer(app, options.host, options.port)


def make_app(control: Control, *, token: str | None, names: frozenset[str]) -> FastAPI:
    """Return the endpoint of a broker; `names` are host names that it may be called by."""
    rules = control.plan.rules
    about = ABOUT.format(clock=rules.clock, agents=rules.agents)
    app = FastAPI(
        title="edgefw broker", version=version("edgefw"), description=about, docs_url=None, redoc_url=None
    )
    app.router.redirect_slashes = False
    app.state.control = control
    handlers = Handlers(control)
    for call in CALLS:
        known = operation(call, rules, token=token is not None)
        handler = getattr(handlers, call.handler)
        app.add_api_route(call.path, handler, methods=[call.verb], response_class=Response, **known)
    app.add_api_route("/docs/{name}", handlers.asset, include_in_schema=False)
    app.add_exception_handler(EdgefwError, _refused)
    app.add_exception_handler(HTTPException, _not_there)
    app.add_exception_handler(ClientDisconnect, _nobody_there)
    app.add_exception_handler(500, _failed)
    app.add_middleware(Guard, token=token, names=names)
    document = _document(app, components(rules), token=token is not None)
    app.openapi = lambda: document  # type: ignore[method-assign]
    return app


def _document(app: FastAPI, schemas: dict[str, Any], *, token: bool) -> dict[str, Any]:
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    document["components"] = {"schemas": schemas}
    if token:
        document["components"]["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
    return document


async def _refused(_request: Request, error: Exception) -> Response:
    status = next((code for kind, code in _STATUS if isinstance(error, kind)), 400)
    return failure(getattr(error, "status", status), str(error), getattr(error, "field", None))


async def _not_there(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    if status != 405:
        return failure(status, f"there is no {request.url.path}: see /docs")
    allowed = _allowed(request)
    return failure(405, f"{request.method} is not for {request.url.path}", headers={"Allow": allowed})


def _allowed(request: Request) -> str:
    """Return the verbs that a path knows, of all routes that it may mean."""
    verbs: set[str] = set()
    for route in request.app.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            verbs |= route.methods
    return ", ".join(sorted(verbs))


async def _nobody_there(_request: Request, _error: Exception) -> Response:
    return failure(400, "the request ended before its body did")


async def _failed(_request: Request, _error: Exception) -> Response:
    return failure(500, "the broker failed at this: its log says how")
