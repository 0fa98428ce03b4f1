"""The admin endpoint's server."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket

import httpx
import pytest
from admin_stand_in import StandIn, served

from edgefw.errors import InputError
from edgefw.services.broker.admin.app import AdminOptions, make_server


def test_it_serves_between_start_and_stop_and_leaves_signals_alone() -> None:
    async def test() -> None:
        before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
        server = make_server(StandIn(), AdminOptions("127.0.0.1", 0))
        port = await server.start()
        assert port == server.port > 0
        assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
            assert (await client.get("/healthz")).json() == {"status": "ok"}
        await server.stop()
        await server.stop()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)

    asyncio.run(test())


def test_a_port_that_is_taken_is_said_in_one_line() -> None:
    async def test(port: int) -> None:
        with pytest.raises(InputError, match=f"127.0.0.1:{port}") as caught:
            await make_server(StandIn(), AdminOptions("127.0.0.1", port)).start()
        assert "\n" not in str(caught.value)
        with pytest.raises(InputError, match="no address"):
            await make_server(StandIn(), AdminOptions("no.such.host.invalid", 0, token="x")).start()  # noqa: S106

    with socket.create_server(("127.0.0.1", 0)) as taken:
        asyncio.run(test(taken.getsockname()[1]))


def test_a_server_that_fails_to_start_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "no more files")

    monkeypatch.setattr(asyncio, "start_server", fail)

    async def test() -> None:
        async with asyncio.timeout(30):
            with pytest.raises(InputError, match="no more files"):
                await make_server(StandIn(), AdminOptions("127.0.0.1", 0)).start()

    asyncio.run(test())


def test_it_does_not_listen_where_it_may_not() -> None:
    with pytest.raises(InputError, match="--admin-open"):
        make_server(StandIn(), AdminOptions("0.0.0.0", 0))  # noqa: S104 - it is what is refused


def test_a_body_that_is_too_large_is_answered_over_a_connection_too() -> None:
    with served() as endpoint, httpx.Client(base_url=endpoint.url, trust_env=False) as client:
        headers = {"Content-Type": "application/json"}
        assert client.post("/faults", content=b" " * 10_000_000, headers=headers).status_code == 413
        pieces = (b" " * 100_000 for _ in range(100))
        assert client.post("/faults", content=pieces, headers=headers).status_code == 413
        assert client.get("/plan").json()["faults"] == []


def test_a_client_that_goes_in_the_middle_of_its_body_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    with served() as endpoint:
        port = int(endpoint.url.rpartition(":")[2])
        head = b"POST /faults HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(head)
        assert httpx.get(f"{endpoint.url}/healthz", trust_env=False).status_code == 200
    assert "Traceback" not in caplog.text
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
