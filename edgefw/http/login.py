"""How a browser comes by the right to call an endpoint that asks for a token: it is asked once, in a form.

What it keeps is a cookie that no script can read and no other site can send (HttpOnly, SameSite=Strict). The
cookie proves that its owner had the token, and does not tell it. It is the same for everyone and after a
restart, and worth nothing once the token is another one. Its name depends on the token too: endpoints at
several ports of one host, which share cookies, do not overwrite each other's.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from edgefw.http.answers import Answer, failure

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

LOGIN, INSIDE = "/login", "/docs"
PREFIX = "edgefw-"
_LARGEST = 4096  # bytes of a form
_FORM = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>edgefw broker</title>
<style>body { font: 1rem system-ui; margin: 4rem auto; max-width: 22rem } input, button { font: inherit;
padding: .4rem; width: 100%%; box-sizing: border-box; margin-top: .5rem }</style></head>
<body><h1>edgefw broker</h1>
<form method="post"><label>The token of this endpoint (EDGEFW_ADMIN_TOKEN)
<input type="password" name="token" autocomplete="current-password" required autofocus></label>
<button>Log in</button><p role="alert">%s</p></form></body></html>
"""
_WRONG = "This is not the token."
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
}


class Login:
    """The app at /login, and what knows those who have been there."""

    def __init__(self, token: str) -> None:
        proof = hmac.new(token.encode(), b"has the token of this endpoint", hashlib.sha256).hexdigest()
        self._token, self._name, self._proof = token.encode(), PREFIX + proof[:8], proof[8:].encode()

    def knows(self, cookies: list[str]) -> bool:
        """Whether one of these headers has the cookie.

        Others are stepped over, whatever is in them: all that listens on a host shares its cookies.
        """
        given = (each.strip().partition("=") for header in cookies for each in header.split(";"))
        return any(
            name == self._name and hmac.compare_digest(proof.encode(), self._proof)
            for name, _, proof in given
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Show the form, or take it."""
        await (await self._answer(scope, receive))(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        page = wants_page(scope)
        if scope["method"] == "GET":
            return _form("", 200)
        if scope["method"] != "POST":
            return failure(405, f"{scope['method']} is not for {LOGIN}", headers={"Allow": "GET, POST"})
        given = await _token(receive)
        if given is None:
            return failure(413, f"the form is too large: at most {_LARGEST} bytes are read")
        if not hmac.compare_digest(given, self._token):
            return _form(_WRONG, 401) if page else failure(401, _WRONG)
        cookie = f"{self._name}={self._proof.decode()}; Path=/; HttpOnly; SameSite=Strict"
        told = {"Set-Cookie": cookie, "Cache-Control": "no-store"}
        return (
            Answer(b"", 303, None, {**told, "Location": INSIDE, "Content-Length": "0"})
            if page
            else Answer(b"", 204, None, told)
        )


def to_login() -> Answer:
    """Send a browser to the form."""
    return Answer(b"", 303, None, {"Location": LOGIN, "Content-Length": "0"})


def wants_page(scope: Scope) -> bool:
    """Whether a person asks, with a browser, for something to look at."""
    return any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])


def _form(words: str, status: int) -> Answer:
    return Answer((_FORM % words).encode(), status, "text/html; charset=utf-8", _HEADERS)


async def _token(receive: Receive) -> bytes | None:
    """Return the token of a form, None if the form is too large; a form without one has an empty one."""
    body, more = bytearray(), True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > _LARGEST:
            return None
    given = parse_qs(body.decode("latin-1"), encoding="utf-8", errors="replace").get("token", [""])
    return given[0].strip().encode()
