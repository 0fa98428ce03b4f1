"""Who calls the admin endpoint, for the record of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw.delays.words import cut

if TYPE_CHECKING:
    from starlette.requests import Request

LONGEST = 80  # characters of what a caller says of itself


def caller(request: Request) -> str:
    """Return what a caller says of itself (User-Agent), and its address: "curl/8.14.1 at 127.0.0.1".

    The name is a claim: whoever may call may call itself anything. The page's calls come from the observer,
    which says for whose browser: "edgefw-page (192.0.2.7) at 10.0.0.3".
    """
    said = "".join(letter for letter in request.headers.get("user-agent", "") if letter.isprintable())
    name = cut(said.strip(), LONGEST) or "somebody"
    return name if request.client is None else f"{name} at {request.client.host}"
