"""Ports that are kept for a run: nobody else gets them, and its own services can listen there."""

from __future__ import annotations

import socket
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from edgefw.errors import InputError
from edgefw.local import ports
from edgefw.local.ports import LOOPBACK, loopback_places

if TYPE_CHECKING:
    from edgefw.local.ports import Places


def listening(port: int = 0) -> socket.socket:
    """Listen as gRPC and asyncio do."""
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((LOOPBACK, port))
    server.listen()
    return server


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> int:
    """Let a port that is free be the one where the admin endpoint is looked for."""
    with closing(listening()) as server:
        port: int = server.getsockname()[1]
    monkeypatch.setattr(ports, "ADMIN_PORT", port)
    return port


def all_ports(places: Places) -> list[int]:
    everyone = (places.broker, places.observer, *places.agents)
    return [places.admin, *(port for place in everyone for port in (place.port, place.metrics_port))]


def test_every_service_has_ports_of_its_own_and_can_listen_there(free: int) -> None:
    with loopback_places(5) as places:
        kept = all_ports(places)
        assert len(set(kept)) == len(kept) == 1 + 2 * 7
        assert places.admin == free
        for port in kept:
            listening(port).close()


def test_two_runs_that_start_at_once_get_different_ports(free: int) -> None:
    with loopback_places(3) as first, loopback_places(3) as second:
        assert not set(all_ports(first)) & set(all_ports(second))
        assert first.admin == free
    with loopback_places(3) as third:
        assert third.admin == free  # it is free again


def test_where_somebody_listens_the_admin_endpoint_goes_elsewhere(free: int) -> None:
    with closing(listening(free)), loopback_places(0) as places:
        assert places.admin != free


def test_a_port_that_was_asked_for_is_taken_or_refused(free: int) -> None:
    with loopback_places(0, free) as places:
        assert places.admin == free
        with pytest.raises(InputError, match=f"--admin-port {free}: it is taken"), loopback_places(0, free):
            pass
    with (
        closing(listening(free)),
        pytest.raises(InputError, match="end what uses it, or leave the option out"),
        loopback_places(0, free),
    ):
        pass
