"""Speaks to a broker's admin endpoint; whatever goes wrong is said in one line."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import httpx

from edgefw.errors import EdgefwError, InputError
from edgefw.http.guard import is_loopback

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "edgefw-delay"  # who changes a plan, in the record of the run
PATIENCE = 10.0  # seconds for an answer, and for an endpoint that has gone to come back
SILENCE = 60.0  # seconds without a sign of life after which a stream of events is broken


class EndpointError(EdgefwError):
    """The endpoint refused, or could not be reached; `status` is its HTTP status."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class StreamEvent(NamedTuple):
    """One of the endpoint's events."""

    kind: str
    number: int | None
    data: dict[str, Any]


class Admin:
    """An admin endpoint at a URL."""

    def __init__(self, url: str, token: str | None) -> None:
        self.url = url if "//" in url else f"http://{url}"
        if token is not None and not token.isascii():
            raise InputError("--token: a token is plain ASCII")
        headers = {"User-Agent": NAME} | ({} if token is None else {"Authorization": f"Bearer {token}"})
        base = _parsed_url(self.url)
        # A proxy of the environment is no way to this machine itself.
        self._client = httpx.Client(
            base_url=base, headers=headers, timeout=PATIENCE, trust_env=not is_loopback(base.host)
        )

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close connections."""
        self._client.close()

    def call(self, verb: str, path: str, body: Any = None) -> Any:
        """Return what the endpoint answers; raise what it refuses with."""
        content = None if body is None else json.dumps(body, default=str).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        with self._reached():
            answer = self._client.request(verb, path, content=content, headers=headers)
        self._check(answer)
        return self._parsed(answer) if answer.content else None

    def events(self, kinds: str | None) -> Iterator[StreamEvent]:
        """Yield events for ever; a stream that breaks is taken up again."""
        stood, lost = False, 0.0  # whether there has been a stream, and since when there is none
        while True:
            try:
                for event in self._stream(kinds):
                    stood, lost = True, 0.0
                    if event is not None:
                        yield event
            except EndpointError as error:
                if not stood or error.status is not None:
                    raise
            lost = lost or time.monotonic()
            if time.monotonic() > lost + PATIENCE:
                raise EndpointError(f"the broker at {self.url} has gone")
            time.sleep(0.5)

    def _stream(self, kinds: str | None) -> Iterator[StreamEvent | None]:
        """Yield the events of one stream, None for a sign of life."""
        query = {} if kinds is None else {"kinds": kinds}
        patience = httpx.Timeout(PATIENCE, read=SILENCE)
        with self._reached(), self._client.stream("GET", "/events", params=query, timeout=patience) as answer:
            if answer.is_error:
                answer.read()
            self._check(answer)
            yield from _events(answer.iter_lines())

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except httpx.TimeoutException:
            raise EndpointError(f"the broker at {self.url} does not answer") from None
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise EndpointError(
                f"no broker answers at {self.url} ({error}): start one with `edgefw up`, or say where it is "
                "with --admin URL"
            ) from None

    def _check(self, answer: httpx.Response) -> None:
        if answer.is_success:
            return
        told = self._parsed(answer)
        message = told.get("error") if isinstance(told, dict) else None
        if not isinstance(message, str):
            raise self._stranger()
        if answer.status_code in {400, 413, 415}:
            raise InputError(message)
        if answer.status_code == 401:
            message = f"{self.url} asks for a token: give it with --token, or in EDGEFW_ADMIN_TOKEN"
        raise EndpointError(message, answer.status_code)

    def _parsed(self, answer: httpx.Response) -> Any:
        try:
            return answer.json()
        except ValueError:
            raise self._stranger() from None

    def _stranger(self) -> EndpointError:
        return EndpointError(f"{self.url} answers, but is no broker's admin endpoint: see --admin", 0)


def _events(lines: Iterator[str]) -> Iterator[StreamEvent | None]:
    """Yield the events of a stream of server-sent events, None where there is only a comment."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif "data" in fields:
            number = fields.get("id")
            yield StreamEvent(
                fields.get("event", ""), int(number) if number else None, json.loads(fields["data"])
            )
            fields = {}
        else:
            yield None
            fields = {}


def _parsed_url(url: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InputError(f"--admin {url}: {error}") from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise InputError(f"--admin {url}: write an address such as http://127.0.0.1:7070")
    return parsed
