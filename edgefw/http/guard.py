"""Who may speak to a service over HTTP: no page of another site, and only with the token if there is one."""

from __future__ import annotations

import hmac
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from edgefw.http.answers import failure
from edgefw.http.login import LOGIN, Login, to_login, wants_page

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

OPEN = "/healthz"
_PORTS = {"http": 80, "https": 443}

# Who asks for another host may have reached this one by an address that was that host's a moment ago. On a
# connection that is kept it would go on asking the wrong one.
_HANG_UP = {"Connection": "close"}


class Guard:
    """An app behind a guard, who refuses foreign hosts (a name that was rebound to this address) and origins.

    A page in the user's browser names its own site in Host or Origin; it must neither inject delays nor read
    along. A client that is no browser sends no Origin. `names` are host names that the service is known by.
    A token, where there is one, is asked of everyone; a browser is asked for it once, at /login.
    """

    def __init__(self, app: ASGIApp, *, names: frozenset[str], token: str | None = None) -> None:
        self._app = app
        self._names = frozenset(name.lower() for name in names) | {"localhost"}
        self._expected = None if token is None else f"Bearer {token}".encode()
        self._login = None if token is None else Login(token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may pass."""
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        given: dict[bytes, list[str]] = {b"host": [], b"origin": [], b"authorization": [], b"cookie": []}
        for name, value in scope["headers"]:
            if name in given:
                given[name].append(value.decode("latin-1"))
        hosts, origins, tokens, cookies = given.values()
        host = _split(f"//{hosts[0]}") if len(hosts) == 1 else None
        if host is None or not (host[1] in self._names or _is_address(host[1])):
            told = hosts[0] if hosts else "missing"
            return failure(
                403,
                f"the Host header is {told!r}: use localhost, an address, or a name that the service was "
                "given (--advertise, --admin-name)",
                headers=_HANG_UP,
            )
        for origin in origins:
            if not _same(_split(origin), host):
                return failure(403, f"the Origin header is {origin!r}: pages of other sites may not call")
        return None if self._login is None else self._stranger(self._login, scope, tokens, cookies)

    def _stranger(self, login: Login, scope: Scope, tokens: list[str], cookies: list[str]) -> ASGIApp | None:
        """Return what answers who has no token; None for who has one, or needs none."""
        if scope["path"] == LOGIN:
            return login
        known = self._has_token(tokens) or (not tokens and login.knows(cookies))
        if known or scope["path"] == OPEN:
            return None
        if scope["method"] == "GET" and wants_page(scope):
            return to_login()
        how = {"WWW-Authenticate": 'Bearer realm="edgefw"'}
        return failure(401, "a token is needed: send the header Authorization: Bearer TOKEN", headers=how)

    def _has_token(self, given: list[str]) -> bool:
        if self._expected is None or len(given) != 1:
            return False
        scheme, _, token = given[0].partition(" ")
        return hmac.compare_digest(f"{scheme.capitalize()} {token.strip()}".encode(), self._expected)


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
    """Whether an origin is the service's own; all names of the loopback are one."""
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
