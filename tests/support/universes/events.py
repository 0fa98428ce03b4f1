"""What happens to a world, and when."""

from __future__ import annotations

import asyncio
from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import grpc

from edgefw.v1 import broker_service_pb2 as pb
from edgefw.v1.broker_service_pb2_grpc import BrokerServiceStub
from universes.draw import KILLABLE
from universes.life import Life

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from universes.draw import Event
    from universes.world import World

SECOND = 10**9
_HEARD = 0.01  # seconds after which those that are left have heard that calls broke
ANSWERS = {None, 200, 201, 204, 400, 404, 409, 507}  # what a plan change may be answered with


class Happenings:
    """Lets events happen, each once its moment has come; `happened` is called after each."""

    def __init__(self, world: World, events: Sequence[Event], happened: Callable[[], None]) -> None:
        self._world, self._happened = world, happened
        self._waiting = sorted(events, key=attrgetter("after"))
        self._armed: list[tuple[Event, int]] = []  # and at which step of its service each happens
        self._over = False
        self._steps: Counter[str] = Counter()  # of each service, in all its lives

    def begin(self) -> None:
        """Let happen what needs no progress."""
        self._world.wire.progress = self.progress
        self._world.loop.stepped = self.stepped
        self.progress()

    def end(self) -> None:
        """Let nothing happen any more."""
        self._over = True
        self._armed, self._waiting = [], []

    def progress(self) -> None:
        """Take note that the broker has read a submission."""
        world = self._world
        while self._waiting and self._waiting[0].after <= world.wire.takes:
            event = self._waiting.pop(0)
            world.loop.call_later(event.wait, self._arm, event, context=world.network.nobody)

    def stepped(self, life: Life | None) -> None:
        """Take note of a step."""
        if life is None or not (life.name in KILLABLE or life.name.startswith("agent")):
            return
        self._steps[life.name] += 1
        for armed in self._armed:
            event, step = armed
            if _whose(event) == life.name and step <= self._steps[life.name]:
                self._armed.remove(armed)
                self._happen(event)
                return

    def _arm(self, event: Event) -> None:
        if self._over:
            return
        if not event.steps:
            self._happen(event)
            return
        self._armed.append((event, self._steps[_whose(event)] + event.steps))
        self._armed.sort(key=lambda each: each[1])

    def _happen(self, event: Event) -> None:
        self._world.say(f"event {event}")
        self._world.happened.append(event.number)
        getattr(self, f"_{event.kind}")(**event.what)
        self._happened()

    def _later(self, seconds: float, call: Callable[..., object], *values: Any) -> None:
        self._world.loop.call_later(seconds, call, *values, context=self._world.network.nobody)

    def _kill(self, who: str, *, tail: str, lost: bool, down: float, reboot: bool) -> None:
        if who == "observer":
            if self._world.kill_observer(lost=lost):
                self._later(down, self._world.start_observer)
        elif self._world.kill_broker(tail, lost=lost):
            if reboot:
                self._world.real_time.reboot()
            self._later(down, self._world.start_broker)

    def _crash(self, who: Sequence[str], *, tail: str, lost: bool, down: Sequence[float]) -> None:
        self._world.heard = self._world.loop.time() + _HEARD
        for name, seconds in zip(who, down, strict=True):
            if not name.startswith("agent"):
                self._kill(name, tail=tail, lost=lost, down=seconds, reboot=False)
            elif self._world.kill_agent(agent := int(name.rpartition("-")[2]), tail, lost=lost):
                self._later(seconds, self._world.start_agent, agent)

    def _plan(self, verb: str, path: str, body: Any, seconds: float | None = None) -> None:
        self._world.aside(self._change(verb, path, body, seconds))

    async def _change(self, verb: str, path: str, body: Any, seconds: float | None) -> None:
        world = self._world
        status = await world.admin.call(verb, path, body)
        world.say(f"{verb} {path} is answered with {status}")
        if status not in ANSWERS:
            world.violated(f"{verb} {path} was answered with {status}")
        if seconds is not None:
            await asyncio.sleep(seconds)
            await world.admin.insist("PATCH", path, {"enabled": True})

    def _cut(self, between: tuple[str, str], *, silently: bool, seconds: float) -> None:
        self._world.network.cut(*between, silently=silently)
        self._later(seconds, self._world.network.heal, *between)

    def _pause(self, who: str, seconds: float) -> None:
        life = self._world.life(who)
        if life is not None and not life.paused and not life.dead:
            life.paused = True
            self._later(seconds, self._world.loop.resume, life)

    def _full(self, seconds: float) -> None:
        self._world.disk.full = True
        self._later(seconds, self._make_room)

    def _make_room(self) -> None:
        self._world.disk.full = False

    def _clock(self, seconds: float) -> None:
        self._world.real_time.step(round(seconds * SECOND))

    def _stranger(self, who: str, agent: int) -> None:
        strangers = {
            "half a request": lambda: self._world.admin.begin(
                b"POST /faults HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            ),
            "listener": lambda: self._world.admin.begin(b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
            "silent submitter": lambda: self._stream(agent, subscribes=False),
            "impostor": lambda: self._stream(agent, subscribes=True),
        }
        self._world.aside(strangers[who]())

    async def _stream(self, agent: int, *, subscribes: bool) -> None:
        """Open a stream to the broker, as this agent or as nobody, and vanish without a word."""
        world = self._world
        async with world.network.open_channel(world.places.broker.address) as channel:
            stub = BrokerServiceStub(channel)
            call = stub.Subscribe() if subscribes else stub.Submit()
            try:
                if subscribes:
                    subscription = pb.Subscription(agent=agent, run_id=world.run_id)
                    await call.write(pb.SubscribeRequest(subscription=subscription))
                async with asyncio.timeout(0.2):
                    while await call.read() is not grpc.aio.EOF:
                        pass
            except (grpc.aio.AioRpcError, asyncio.InvalidStateError, TimeoutError):
                world.say("a stranger has gone")


def stranger() -> Life:
    """Return the life of whoever is no service."""
    return Life("stranger")


def _whose(event: Event) -> str:
    """Return whose steps an event waits for."""
    if event.kind == "crash":
        return str(event.what["who"][0])
    return str(event.what["who"]) if event.kind == "kill" else "broker"
