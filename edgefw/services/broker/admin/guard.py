"""Who may speak to the admin endpoint: no page of another site, and only with the token if there is one."""

from __future__ import annotations

import hmac
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from edgefw.services.broker.admin.answers import failure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

OPEN = "/healthz"
_PORTS = {"http": 80, "https": 443}


class Guard:
    """Middleware that refuses foreign hosts (a name that was rebound to this address), origins and strangers.

    A page in the user's browser names its own site in Host or Origin; it must not inject delays. A client
    that is no browser sends no Origin.
    """

    def __init__(self, app: ASGIApp, *, token: str | None, names: frozenset[str]) -> None:
        self._app = app
        self._names = frozenset(name.lower() for name in names)
        self._expected = None if token is None else f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may pass."""
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        hosts, origins, tokens = (_values(scope, name) for name in (b"host", b"origin", b"authorization"))
        host = _split(f"//{hosts[0]}") if len(hosts) == 1 else None
        if host is None or not self._known(host[1]):
            given = hosts[0] if hosts else "missing"
            return failure(403, f"the Host header is {given!r}: use localhost, an address, or --admin-name")
        for origin in origins:
            if not _same(_split(origin), host):
                return failure(403, f"the Origin header is {origin!r}: pages of other sites may not call")
        if self._expected is None or scope["path"] == OPEN or self._has_token(tokens):
            return None
        how = {"WWW-Authenticate": 'Bearer realm="edgefw broker"'}
        return failure(401, "a token is needed: send the header Authorization: Bearer TOKEN", headers=how)

    def _known(self, host: str) -> bool:
        return host == "localhost" or host in self._names or _is_address(host)

    def _has_token(self, given: list[str]) -> bool:
        if self._expected is None or len(given) != 1:
            return False
        scheme, _, token = given[0].partition(" ")
        return hmac.compare_digest(f"{scheme.capitalize()} {token.strip()}".encode(), self._expected)


def _values(scope: Scope, name: bytes) -> list[str]:
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    return [value.decode("latin-1") for key, value in headers if key == name]


def _split(url: str) -> tuple[str, str, int | None] | None:
    """Return scheme, host and port of an origin, or of a host (no scheme); None if it is neither."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if not parts.hostname or parts.path or parts.query or parts.fragment or "@" in parts.netloc:
        return None
    return parts.scheme, parts.hostname, port


def _same(origin: tuple[str, str, int | None] | None, host: tuple[str, str, int | None]) -> bool:
    """Whether an origin is the endpoint's own; all names of the loopback are one."""
    if origin is None or origin[0] not in _PORTS:
        return False
    default = _PORTS[origin[0]]
    return (_one_loopback(origin[1]), origin[2] or default) == (_one_loopback(host[1]), host[2] or default)


def _one_loopback(host: str) -> str:
    return "localhost" if is_loopback(host) else host


def is_loopback(host: str) -> bool:
    """Whether a host is this machine as only this machine sees it."""
    return host.lower() == "localhost" or (_is_address(host) and ip_address(host).is_loopback)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
