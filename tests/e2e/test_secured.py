"""A run of processes under TLS: nobody from outside gets in or stops it, and no secret gets out."""

from __future__ import annotations

import asyncio
import json
import random
import re
import signal
import socket
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

import grpc
import psutil
import pytest
from emulated import Emulated
from grpc_health.v1 import health_pb2, health_pb2_grpc
from waiting import PATIENCE, until

from edgefw.cli import main
from edgefw.transport.authority import make_certificates
from edgefw.transport.channel import GRPC, GrpcTransport
from edgefw.transport.credentials import TOKEN, Credentials, read_tls, services

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.transport.seam import Transport

pytestmark = pytest.mark.timeout(300)  # a network of processes takes its time, on a busy machine
AGENTS = 2
LONG = {
    "network.agents": AGENTS,
    "algorithm.horizon": 20_000,
    "algorithm.stop_after": 20_000,
    "algorithm.sub_iterations": 3,
}


def asked(transport: Transport, address: str, name: str) -> grpc.StatusCode:
    """Return how a question about a service's health ends."""

    async def ask() -> grpc.StatusCode:
        async with transport.open_channel(address, name) as channel:
            call = health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(), timeout=PATIENCE
            )
            code: grpc.StatusCode = await call.code()
            return code

    return asyncio.run(ask())


def trouble(address: tuple[str, int], chance: random.Random) -> None:
    """Open a thousand connections; some say nothing, some a half of something, some anything."""
    with ExitStack() as stack:
        for i in range(1000):
            connection = stack.enter_context(socket.create_connection(address, PATIENCE))
            said = (b"", b"GET /metrics HTTP/1.1\r\nHo", chance.randbytes(200))[i % 3]
            with suppress(ConnectionError):  # one too many is ended at once
                connection.sendall(said)


def rounds(run: Emulated) -> int:
    return max(map(int, re.findall(r"round +(\d+)", run.err())), default=0)


def test_a_run_under_tls_lets_nobody_in_and_no_secret_out(tmp_path: Path) -> None:
    certificates = tmp_path / "certificates"
    make_certificates(certificates, services(AGENTS), days=2)
    run = Emulated(tmp_path, "--tls", str(certificates), fields=LONG)
    try:
        until(lambda: rounds(run), "it plays", 2 * PATIENCE)
        processes = [
            each for each in psutil.Process(run.process.pid).children() if "--listen" in each.cmdline()
        ]
        assert len(processes) == AGENTS + 2
        (token,) = {each.environ()[TOKEN] for each in processes}
        own = read_tls(certificates / "operator")
        for each in processes:
            words = each.cmdline()
            role, address = words[3], words[words.index("--listen") + 1]
            name = f"agent-{words[words.index('--agent') + 1]}" if role == "agent" else role
            assert asked(GRPC, address, name) is grpc.StatusCode.UNAVAILABLE
            assert (
                asked(GrpcTransport(Credentials(None, own)), address, name) is grpc.StatusCode.UNAUTHENTICATED
            )
            assert asked(GrpcTransport(Credentials(token, own)), address, name) is grpc.StatusCode.OK
            assert token not in " ".join(words)
        places = {
            (each.laddr.ip, each.laddr.port)
            for p in processes
            for each in p.net_connections()
            if each.status == "LISTEN"
        }
        assert len(places) == 2 * len(processes) + 1, "gRPC and HTTP, and the admin endpoint"
        for place in sorted(places):
            trouble(place, random.Random(place[1]))
        played = rounds(run)
        until(lambda: rounds(run) > played, "it goes on", 2 * PATIENCE)
        assert all(each.is_running() for each in processes)
        run.process.send_signal(signal.SIGINT)
        run.end()
    finally:
        run.close()
    assert json.loads((run.path / "summary.json").read_text())["rounds"] > 0
    written = [
        run.out(),
        run.err(),
        *(file.read_bytes().decode("latin-1") for file in run.path.rglob("*") if file.is_file()),
    ]
    assert not any(token in text or "PRIVATE KEY" in text for text in written)


def test_a_certificate_that_is_missing_is_said_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_certificates(tmp_path / "c", services(2), days=2)
    words = ["up", "default", "--set", "network.agents=4", "--set", "delays=[]", "--tls", str(tmp_path / "c")]
    assert main(words) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "there is no certificate of agent-2, agent-3 in" in told
    assert f"edgefw certs {tmp_path / 'c'} --agents 4 makes what is missing" in told
    assert main([*words, "--virtual"]) == 2
    assert "--tls is for services that others can reach" in capsys.readouterr().err
