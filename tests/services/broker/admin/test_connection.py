"""Clients that take more than their share, over real sockets: the loop goes on, and others get in."""

from __future__ import annotations

import socket
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import h11
import httpx
import pytest
from admin_stand_in import served
from waiting import until

from edgefw.http.connection import PIECE, Bounds
from edgefw.services.broker.events import MOST_LISTENERS

if TYPE_CHECKING:
    from admin_stand_in import Served

PATIENCE = 30.0
HOST = b"Host: localhost\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
EVENTS = b"GET /events HTTP/1.1\r\n" + HOST + b"\r\n"
SOON = Bounds(request=0.05)


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
        assert sum(turns.parsed) <= Bounds().head + 2 * PIECE
        assert max(turns.parsed) <= PIECE


def test_a_body_is_parsed_a_piece_in_each_turn_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each chunk of one byte costs as much as one of a megabyte."""
    chunks = b"1\r\n \r\n" * 20_000
    with served() as endpoint, connect(endpoint) as client:
        turns = Turns(endpoint, monkeypatch)
        head = b"POST /faults HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n" + HOST
        send(client, head + b"\r\n" + chunks + b"0\r\n\r\n")
        assert b" 400 " in rest(client)
        assert sum(turns.parsed) > len(chunks)
        assert max(turns.parsed) <= PIECE


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
def test_a_half_sent_request_is_ended(half: bytes, caplog: pytest.LogCaptureFixture) -> None:
    with served(bounds=SOON) as endpoint, connect(endpoint) as client:
        send(client, half)
        answered = rest(client)
        assert answered.count(b" 200 ") == half.count(HEALTH)
        assert is_served(endpoint)
    assert "Traceback" not in caplog.text


def test_a_request_that_comes_in_drops_is_ended_too() -> None:
    with served(bounds=SOON) as endpoint, connect(endpoint) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\n")

        def drop() -> bool:
            try:
                client.sendall(b"a: b\r\n")
            except ConnectionError:
                return True
            return False

        until(drop)


def test_an_answer_may_take_longer_than_its_request() -> None:
    with served(bounds=SOON) as endpoint, connect(endpoint) as listener, connect(endpoint) as silent:
        listener.sendall(EVENTS)
        assert b": here" in listener.recv(65536) + listener.recv(65536)
        with connect(endpoint) as late:
            assert rest(silent) + rest(late) == b""  # their time is over, and the listener's would be
        endpoint.call(endpoint.control.events.publish, "change", {"version": 2})
        assert b"event: change" in listener.recv(65536)


def test_a_listener_who_does_not_read_is_dropped() -> None:
    with served(bounds=Bounds(stall=0.05)) as endpoint, connect(endpoint) as client:
        hub: Any = endpoint.control.events
        client.sendall(EVENTS)
        until(lambda: endpoint.call(len, hub.listeners) == 1)

        def gone() -> bool:
            endpoint.call(hub.publish, "change", {"much": "x" * 1_000_000})
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
        received = b""
        while b"event: change" not in received:
            received += listener.recv(65536)
