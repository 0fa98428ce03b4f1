"""The door of a server: it opens for calls that carry the run's token, whichever the transport.

A channel adds the token to every call; a server looks at it before anything else of the call, so whoever
has none is told nothing: not even which methods there are. With no token, the door is open.
"""

from __future__ import annotations

import hmac
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import grpc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from edgefw.transport.credentials import Credentials

    Metadata = Iterable[tuple[str, str | bytes]]

log = logging.getLogger(__name__)

KEY = "edgefw-join-token"
REFUSED = grpc.StatusCode.UNAUTHENTICATED
TOLD = (
    "this call does not carry the run's token: start the service with EDGEFW_JOIN_TOKEN or "
    "EDGEFW_JOIN_TOKEN_FILE of this run"
)


def nobody_counts() -> None:
    """Take no note of a call that was refused."""


class Door:
    """Looks at every call; `refused` is called for each one that it turns away."""

    def __init__(self, credentials: Credentials, refused: Callable[[], None] = nobody_counts) -> None:
        self._token = None if credentials.token is None else credentials.token.encode()
        self._refused, self._count = refused, 0

    @property
    def closed(self) -> bool:
        """Whether a token is asked for."""
        return self._token is not None

    def admits(self, metadata: Metadata) -> bool:
        """Whether a call with this metadata may enter; how long that takes tells nothing of the token."""
        if self._token is None:
            return True
        given = [value.encode() if isinstance(value, str) else value for key, value in metadata if key == KEY]
        return len(given) == 1 and hmac.compare_digest(given[0], self._token)

    def turn_away(self, peer: str) -> str:
        """Count a call that may not enter; return what it is told.

        The log says so of the first, the tenth, the hundredth: a stranger does not fill the disk with lines.
        """
        self._refused()
        self._count += 1
        if self._count == 10 ** (len(str(self._count)) - 1):
            log.warning(
                "refused a call from %s: it does not carry the run's token (%d so far)", peer, self._count
            )
        return TOLD


class Guarded(grpc.aio.ServerInterceptor):  # type: ignore[misc]  # grpc has no types
    """A door in front of a gRPC server, for all that it serves."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._refusal = grpc.stream_stream_rpc_method_handler(self._refuse)  # fits calls of every kind

    async def intercept_service(self, continuation: Any, call: Any) -> Any:
        """Return who serves a call: whoever knows the method, or who refuses it."""
        return await continuation(call) if self._door.admits(call.invocation_metadata) else self._refusal

    async def _refuse(self, _requests: Any, context: Any) -> None:
        await context.abort(REFUSED, self._door.turn_away(context.peer()))


class TokenChannel:
    """A channel of any transport, all of whose calls carry a token."""

    def __init__(self, channel: Any, token: str) -> None:
        self._channel, self._metadata = channel, ((KEY, token),)

    async def __aenter__(self) -> Self:
        await self._channel.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._channel.__aexit__(*error)

    async def close(self, grace: float | None = None) -> None:
        """End the calls under way."""
        await self._channel.close(grace)

    def _opener(self, kind: str, *arguments: Any, **options: Any) -> Any:
        return partial(getattr(self._channel, kind)(*arguments, **options), metadata=self._metadata)

    def unary_unary(self, *arguments: Any, **options: Any) -> Any:
        """Return what a stub calls for a method of this kind."""
        return self._opener("unary_unary", *arguments, **options)

    def unary_stream(self, *arguments: Any, **options: Any) -> Any:
        """Return what a stub calls for a method of this kind."""
        return self._opener("unary_stream", *arguments, **options)

    def stream_unary(self, *arguments: Any, **options: Any) -> Any:
        """Return what a stub calls for a method of this kind."""
        return self._opener("stream_unary", *arguments, **options)

    def stream_stream(self, *arguments: Any, **options: Any) -> Any:
        """Return what a stub calls for a method of this kind."""
        return self._opener("stream_stream", *arguments, **options)


def with_token(channel: Any, credentials: Credentials) -> Any:
    """Return a channel whose calls carry the token, if there is one."""
    return channel if credentials.token is None else TokenChannel(channel, credentials.token)
