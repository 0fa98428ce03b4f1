"""Mutual TLS over real sockets: who shows no certificate of the run's authority does nothing at all, and who
shows one does nothing in the name of another."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import grpc
import loopback_broker
import peer_nodes
import playback
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from waiting import PATIENCE

from edgefw.errors import InputError
from edgefw.scenario.setup import resolve
from edgefw.transport.authority import make_certificates
from edgefw.transport.channel import CHANNEL_OPTIONS, GRPC, GrpcTransport
from edgefw.transport.credentials import Credentials, from_environment, read_tls, services
from edgefw.transport.peer_link import Identity
from edgefw.transport.server import RpcServer, until_serving
from edgefw.v1 import broker_service_pb2 as broker
from edgefw.v1 import broker_service_pb2_grpc, observer_service_pb2_grpc, peer_service_pb2_grpc
from edgefw.v1 import observer_service_pb2 as observer
from edgefw.v1 import peer_service_pb2 as peer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from pathlib import Path

N = 6
REFUSED = grpc.StatusCode.PERMISSION_DENIED
PORTS = ("agent-5", "broker", "observer")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder, services(N), days=2)
    return folder


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates with the right names, of another authority."""
    folder = tmp_path_factory.mktemp("others")
    make_certificates(folder, services(N), days=2)
    return folder


@dataclass
class Network:
    """A broker, an observer and agent 5, who knows agents 3 and 4, under TLS."""

    certificates: Path
    addresses: dict[str, str]
    run_ids: dict[str, str]

    def seen_by(self, name: str) -> GrpcTransport:
        return seen_by(self.certificates, name)

    @asynccontextmanager
    async def channel(self, who: str, to: str) -> AsyncIterator[Any]:
        async with self.seen_by(who).open_channel(self.addresses[to], to) as channel:
            yield channel


def seen_by(folder: Path, name: str) -> GrpcTransport:
    return GrpcTransport(Credentials(tls=read_tls(folder / name)))


@asynccontextmanager
async def network(certificates: Path, folder: Path) -> AsyncIterator[Network]:
    scenario = loopback_broker.scenario(agents=N)
    setup = resolve(playback.scenario(network={"agents": N, "topology": "cycle"}))
    me = Identity(agent=5, run_id=peer_nodes.ME.run_id, K=peer_nodes.K, shape=peer_nodes.SHAPE)
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        await enter(asyncio.timeout(PATIENCE))
        as_broker = await enter(loopback_broker.broker(scenario, transport=seen_by(certificates, "broker")))
        node = await enter(peer_nodes.Node(me, (3, 4), seen_by(certificates, "agent-5")))
        kept = playback.new_folder(folder / "run", setup.scenario)
        as_observer = await enter(playback.observing(kept, transport=seen_by(certificates, "observer")))
        yield Network(
            certificates,
            {"broker": as_broker.address, "agent-5": node.address, "observer": as_observer.place.address},
            {"broker": as_broker.run_id, "agent-5": me.run_id, "observer": playback.run_id(setup)},
        )


@pytest.fixture
def run(
    certificates: Path, tmp_path: Path
) -> Callable[[Callable[[Network], Coroutine[Any, Any, None]]], None]:
    def run(test: Callable[[Network], Coroutine[Any, Any, None]]) -> None:
        async def body() -> None:
            async with network(certificates, tmp_path) as services:
                await test(services)

        asyncio.run(body())

    return run


# What agent `agent` does; each returns the first answer.


async def says_hello(channel: Any, agent: int, run_id: str) -> Any:
    call = peer_service_pb2_grpc.PeerServiceStub(channel).Exchange()
    hello = peer_nodes.hello(agent=agent, run_id=run_id)
    return await first_answer(call, peer.ExchangeRequest(hello=hello))


async def submits(channel: Any, agent: int, run_id: str) -> Any:
    request = broker.SubmitRequest(agent=agent, round=1, run_id=run_id, payload=b"x", norm=1.0)
    return await first_answer(broker_service_pb2_grpc.BrokerServiceStub(channel).Submit(), request)


async def subscribes(channel: Any, agent: int, run_id: str) -> Any:
    request = broker.SubscribeRequest(subscription=broker.Subscription(agent=agent, run_id=run_id))
    return await first_answer(broker_service_pb2_grpc.BrokerServiceStub(channel).Subscribe(), request)


async def collects(channel: Any, agent: int, run_id: str) -> Any:
    request = broker.CollectRequest(agent=agent, round=1, run_id=run_id)
    return await broker_service_pb2_grpc.BrokerServiceStub(channel).Collect(request).read()


async def reports(channel: Any, agent: int, run_id: str) -> Any:
    """Report nothing, to the end: that is answered by the end."""
    call = observer_service_pb2_grpc.ObserverServiceStub(channel).Report()
    request = observer.ReportRequest(reporter=observer.Reporter(agent=agent, run_id=run_id))
    return await first_answer(call, request, last=True)


async def joins(channel: Any, agent: int, _run_id: str) -> Any:
    request = observer.JoinRequest(agent=agent, address=f"agent-{agent}:1", metrics_port=1)
    call = observer_service_pb2_grpc.ObserverServiceStub(channel).Join(request)
    try:
        async with asyncio.timeout(0.5):  # who may join waits for the others
            return await call.read()
    except TimeoutError:
        return None
    finally:
        call.cancel()


async def joins_as_broker(channel: Any, _agent: int, _run_id: str) -> Any:
    request = observer.JoinRequest(address="broker:1", metrics_port=1)
    return await observer_service_pb2_grpc.ObserverServiceStub(channel).Join(request).read()


async def gives_account(channel: Any, _agent: int, run_id: str) -> Any:
    call = observer_service_pb2_grpc.ObserverServiceStub(channel).Account()
    return await first_answer(call, observer.AccountRequest(run_id=run_id))


async def first_answer(call: Any, request: Any, *, last: bool = False) -> Any:
    try:
        await call.write(request)
        if last:
            await call.done_writing()
    except asyncio.InvalidStateError:
        pass  # reading says why
    return await call.read()


AS_AGENT: list[tuple[Any, str]] = [
    (says_hello, "agent-5"),
    (submits, "broker"),
    (subscribes, "broker"),
    (reports, "observer"),
    (joins, "observer"),
]
AS_BROKER: list[tuple[Any, str]] = [(joins_as_broker, "observer"), (gives_account, "observer")]


@pytest.mark.parametrize(("act", "to"), [*AS_AGENT, (collects, "broker")])
@pytest.mark.parametrize("who", ["agent-3", "observer", "operator"])
def test_nobody_acts_as_agent_4_with_another_certificate(run: Any, who: str, act: Any, to: str) -> None:
    async def test(services: Network) -> None:
        async with services.channel(who, to) as channel:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await act(channel, 4, services.run_ids[to])
        assert caught.value.code() is REFUSED
        told = f"this call speaks as agent-4, and its certificate is of '{who}'"
        assert caught.value.details() == told

    run(test)


@pytest.mark.parametrize(("act", "to"), AS_BROKER)
@pytest.mark.parametrize("who", ["agent-3", "operator", "observer"])
def test_nobody_acts_as_the_broker_with_another_certificate(run: Any, who: str, act: Any, to: str) -> None:
    async def test(services: Network) -> None:
        async with services.channel(who, to) as channel:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await act(channel, 0, services.run_ids[to])
        assert caught.value.code() is REFUSED

    run(test)


def test_with_its_own_certificate_everyone_may_do_what_it_does(run: Any) -> None:
    async def test(services: Network) -> None:
        for act, to in AS_AGENT:
            async with services.channel("agent-4", to) as channel:
                await act(channel, 4, services.run_ids[to])
        for act, to in AS_BROKER:
            async with services.channel("broker", to) as channel:
                assert await act(channel, 0, services.run_ids[to]) is not grpc.aio.EOF
        await until_serving(services.addresses["observer"], services.seen_by("operator"), "observer")

    run(test)


async def asks_health(channel: Any) -> Any:
    return await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=5)


async def asks_what_there_is(channel: Any) -> Any:
    call = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(timeout=5)
    return await first_answer(call, reflection_pb2.ServerReflectionRequest(list_services=""))


def without_certificate(services: Network, to: str) -> Any:
    """Return a channel of somebody who believes the authority, and has nothing to show."""
    believed = grpc.ssl_channel_credentials(read_tls(services.certificates / to).authority)
    named = (*CHANNEL_OPTIONS, ("grpc.ssl_target_name_override", to))
    return grpc.aio.secure_channel(services.addresses[to], believed, options=named)


def with_another_authority(services: Network, to: str, others: Path) -> Any:
    """Return a channel of somebody with a certificate of the right name, by an authority of his own."""
    ours, theirs = read_tls(services.certificates / to), read_tls(others / "agent-4")
    transport = GrpcTransport(Credentials(tls=replace(theirs, authority=ours.authority)))
    return transport.open_channel(services.addresses[to], to)


@pytest.mark.parametrize("who", ["in the clear", "without a certificate", "by another authority"])
@pytest.mark.parametrize("to", PORTS)
def test_without_the_right_certificate_no_call_succeeds_on_any_port(
    run: Any, others: Path, to: str, who: str
) -> None:
    async def test(services: Network) -> None:
        channels = {
            "in the clear": lambda: GRPC.open_channel(services.addresses[to], to),
            "without a certificate": lambda: without_certificate(services, to),
            "by another authority": lambda: with_another_authority(services, to, others),
        }
        acts = [
            act
            for act, port in (*AS_AGENT, (collects, "broker"), *AS_BROKER)
            if port == to and act is not joins
        ]
        for act in (asks_health, asks_what_there_is, *acts):
            words = (4, services.run_ids[to]) if act in acts else ()
            async with channels[who]() as channel:
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await act(channel, *words)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE

    run(test)


def test_a_service_with_another_name_is_not_believed_where_it_listens(certificates: Path) -> None:
    async def test() -> None:
        server = RpcServer(seen_by(certificates, "agent-3"))
        port = await server.start("127.0.0.1:0")
        await server.ready()
        for expected in ("observer", "agent-4", ""):
            async with seen_by(certificates, "agent-5").open_channel(
                f"127.0.0.1:{port}", expected
            ) as channel:
                with pytest.raises(grpc.aio.AioRpcError, match="UNAVAILABLE"):
                    await asks_health(channel)
        async with seen_by(certificates, "agent-5").open_channel(f"127.0.0.1:{port}", "agent-3") as channel:
            assert await asks_health(channel)
        await server.stop()

    asyncio.run(test())


def test_under_tls_a_service_may_listen_where_others_reach_it(certificates: Path) -> None:
    async def test() -> None:
        listener = seen_by(certificates, "agent-3").listener()
        assert await listener.listen("0.0.0.0:0")
        await listener.stop(0)

    asyncio.run(test())


def test_what_cannot_be_used_is_one_line_and_never_no_encryption(certificates: Path, tmp_path: Path) -> None:
    for missing in ("ca.pem", "cert.pem", "key.pem"):
        folder = tmp_path / missing
        folder.mkdir()
        for file in (certificates / "broker").iterdir():
            if file.name != missing:
                (folder / file.name).write_bytes(file.read_bytes())
        with pytest.raises(InputError, match=f"{missing} is not there: see `edgefw certs --help`"):
            from_environment({"EDGEFW_TLS": str(folder)})
        (folder / missing).write_bytes((certificates / "agent-3" / "key.pem").read_bytes())
        with pytest.raises(InputError, match="does not go together"):
            from_environment({"EDGEFW_TLS": str(folder)})


def test_a_key_is_in_no_text_of_the_credentials(certificates: Path) -> None:
    told = Credentials(tls=read_tls(certificates / "broker"))
    assert "PRIVATE" not in f"{told} {told!r}"
