"""Clients that take more than their share, over real sockets: the loop goes on, and others get in."""

from __future__ import annotations

import socket
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import h11
import httpx
import pytest
from admin_stand_in import served
from told_clock import Clock
from waiting import until

from edgefw.http.connection import Bounds
from edgefw.services.broker.events import MOST_LISTENERS

if TYPE_CHECKING:
    from admin_stand_in import Served

PATIENCE = 30.0
HOST = b"Host: localhost\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
EVENTS = b"GET /events HTTP/1.1\r\n" + HOST + b"\r\n"
A_TURN = 4096  # bytes that are parsed before others get their turn
TOO_LATE = max(Bounds().request, Bounds().idle) + 1


def connect(endpoint: Served) -> socket.socket:
    port = int(endpoint.url.rpartition(":")[2])
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)


def send(client: socket.socket, data: bytes) -> None:
    with suppress(ConnectionError):  # an end that has come already is what follows
        client.sendall(data)


def rest(client: socket.socket) -> bytes:
    """Return all that comes until the server ends the connection; a TimeoutError if it does not."""
    received = b""
    with suppress(ConnectionError):
        while piece := client.recv(65536):
            received += piece
    return received


def comes(client: socket.socket, awaited: bytes) -> None:
    """Read until something has come; a TimeoutError if it does not."""
    received = b""
    while awaited not in received:
        piece = client.recv(65536)
        assert piece, f"the server has ended the connection after {received!r}"
        received += piece


def is_served(endpoint: Served) -> bool:
    return httpx.get(f"{endpoint.url}/healthz", trust_env=False, timeout=PATIENCE).status_code == 200


class Turns:
    """How many bytes are parsed in each turn of the endpoint's loop."""

    def __init__(self, endpoint: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        self.parsed = [0]
        parse = h11.Connection.receive_data

        def receive_data(connection: h11.Connection, data: bytes) -> None:
            self.parsed[-1] += len(data)
            parse(connection, data)

        monkeypatch.setattr(h11.Connection, "receive_data", receive_data)
        self._loop = endpoint._loop
        endpoint.call(self._turn)

    def _turn(self) -> None:
        if self.parsed[-1]:
            self.parsed.append(0)
        self._loop.call_later(0.0, self._turn)  # in the next turn, whatever else is to be done in it


@pytest.mark.parametrize("header", [b"a: b\r\n", b"x" * 100])
def test_a_flood_of_headers_is_refused_while_the_loop_goes_on(
    header: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served() as endpoint, connect(endpoint) as client:
        turns = Turns(endpoint, monkeypatch)
        send(client, b"GET /healthz HTTP/1.1\r\n" + HOST + header * (2_000_000 // len(header)))
        send(client, b"\r\n\r\n")
        assert b" 200 " not in rest(client)
        assert is_served(endpoint)
        assert sum(turns.parsed) <= Bounds().head + 2 * A_TURN
        assert max(turns.parsed) <= A_TURN


def test_a_body_is_parsed_a_piece_in_each_turn_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each chunk of one byte costs as much as one of a megabyte."""
    chunks = b"1\r\n \r\n" * 20_000
    with served() as endpoint, connect(endpoint) as client:
        turns = Turns(endpoint, monkeypatch)
        head = b"POST /faults HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n" + HOST
        send(client, head + b"\r\n" + chunks + b"0\r\n\r\n")
        assert b" 400 " in rest(client)
        assert sum(turns.parsed) > len(chunks)
        assert max(turns.parsed) <= A_TURN


def test_pipelined_requests_are_answered_one_by_one() -> None:
    many = 500
    with served() as endpoint, connect(endpoint) as client:
        last = HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        send(client, HEALTH * many + last)
        assert rest(client).count(b'{"status":"ok"}') == many + 1


@pytest.mark.parametrize(
    "half",
    [
        b"",
        b"GET /hea",
        b"GET /healthz HTTP/1.1\r\n" + HOST,
        b"POST /faults HTTP/1.1\r\nContent-Length: 100\r\n" + HOST + b"\r\n{",
        b"POST /faults HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + HOST + b"\r\n1\r\n{\r\n",
        HEALTH + b"GET /hea",
    ],
    ids=["nothing", "line", "head", "body", "chunks", "second"],
)
def test_a_half_sent_request_is_ended(
    half: bytes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with served(told=Clock()) as endpoint, connect(endpoint) as client:
        turns = Turns(endpoint, monkeypatch)
        send(client, half)
        until(lambda: sum(turns.parsed) == len(half))
        if HEALTH in half:
            comes(client, b'{"status":"ok"}')
        endpoint.advance(TOO_LATE)
        assert rest(client).startswith(b"HTTP/1.1 408 " if b"POST" in half else b"")
        assert is_served(endpoint)
    assert "Traceback" not in caplog.text


def test_a_request_that_comes_in_drops_is_ended_too(monkeypatch: pytest.MonkeyPatch) -> None:
    drops, drop = 5, b"a: b\r\n"
    with served(told=Clock()) as endpoint, connect(endpoint) as client:
        turns = Turns(endpoint, monkeypatch)
        client.sendall(HEALTH.removesuffix(b"\r\n"))
        for _ in range(drops):
            before = sum(turns.parsed)
            client.sendall(drop)
            until(lambda before=before: sum(turns.parsed) > before)  # type: ignore[misc]
            endpoint.advance(0.9 * Bounds().request / drops)
        client.sendall(drop)
        endpoint.advance(0.2 * Bounds().request)
        assert rest(client) == b""


def test_an_answer_may_take_longer_than_its_request() -> None:
    with served(told=Clock()) as endpoint, connect(endpoint) as listener, connect(endpoint) as silent:
        listener.sendall(EVENTS)
        comes(listener, b": here")
        assert is_served(endpoint)  # who came before has been let in
        endpoint.advance(TOO_LATE)
        assert rest(silent) == b""  # its time is over, and the listener's would be
        endpoint.call(endpoint.control.events.publish, "change", {"version": 2})
        comes(listener, b"event: change")


def test_a_listener_who_does_not_read_is_dropped() -> None:
    with served(told=Clock()) as endpoint, connect(endpoint) as client:
        hub: Any = endpoint.control.events
        client.sendall(EVENTS)
        until(lambda: endpoint.call(len, hub.listeners) == 1)

        def gone() -> bool:
            endpoint.call(hub.publish, "change", {"much": "x" * 1_000_000})
            endpoint.advance(1.1 * Bounds().stall)
            return not endpoint.call(list, hub.listeners)

        until(gone)
        assert is_served(endpoint)


def test_streams_that_nobody_reads_keep_no_newcomer_out() -> None:
    with served() as endpoint, ExitStack() as stack:
        for _ in range(MOST_LISTENERS + 2):
            stack.enter_context(connect(endpoint)).sendall(EVENTS)
        until(lambda: endpoint.call(len, endpoint.control.events.listeners) == MOST_LISTENERS)
        newcomer = stack.enter_context(connect(endpoint))
        newcomer.sendall(EVENTS)
        assert newcomer.recv(65536).startswith(b"HTTP/1.1 200")


def test_idle_connections_give_way_to_newcomers_and_streams_stay() -> None:
    with served(bounds=Bounds(connections=4)) as endpoint, ExitStack() as stack:
        listener = stack.enter_context(connect(endpoint))
        listener.sendall(EVENTS)
        until(lambda: endpoint.call(len, endpoint.control.events.listeners) == 1)
        idle = [stack.enter_context(connect(endpoint)) for _ in range(10)]
        assert is_served(endpoint)
        assert [rest(client) for client in idle[:6]] == [b""] * 6
        endpoint.call(endpoint.control.events.publish, "change", {"version": 2})
        comes(listener, b"event: change")
