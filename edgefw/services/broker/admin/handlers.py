"""What the admin endpoint does: one short function for each line of its table (`openapi.CALLS`)."""

from __future__ import annotations

import asyncio
from functools import cache, partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from edgefw.delays import edits
from edgefw.delays.body import Posted, read_fault
from edgefw.delays.words import cut
from edgefw.errors import ExistsError, InputError, UnknownError
from edgefw.http.answers import Answer, encoded, failure
from edgefw.http.body import read_json
from edgefw.http.endpoint import show_metrics
from edgefw.services.broker.admin import docs, openapi
from edgefw.services.broker.admin.models import LinkNumbers, LinkPatch, PlanBody, validated
from edgefw.services.broker.admin.stream import EventStream
from edgefw.services.broker.admin.views import LONG, Shown
from edgefw.services.broker.events import KINDS

if TYPE_CHECKING:
    from starlette.requests import Request

    from edgefw.delays.entry import Moment
    from edgefw.delays.plan import Plan
    from edgefw.services.broker.steering import LinkState, Steering
    from edgefw.services.machine import Machine

LONGEST_NAME = 80  # characters of what a caller says of itself
AT_ONCE = 8  # links or faults that are worked on before others get their turn: delivery does not wait


class Handlers:
    """The calls of the endpoint; `control` is the broker."""

    def __init__(self, control: Steering, machine: Machine, *, token: bool) -> None:
        self._control, self._rules, self._shown = control, control.plan.rules, Shown(machine)
        self._machine = machine
        self._described = partial(openapi.document, self._rules, token=token)
        self._document: bytes | None = None
        about = {"name": "edgefw", "version": _version(), "run": control.run_name}
        self._version = encoded(about | {"clock": self._rules.clock, "agents": self._rules.agents})

    async def links(self, _request: Request) -> Answer:
        """Show every link: state, queue depth, oldest age, faults in force."""
        links = []
        for agent in range(self._rules.agents):
            links.append(await self._link(self._control.link(agent)))
            if agent % AT_ONCE == 0:
                await asyncio.sleep(0)
        return Answer(b'{"clock":"%s","links":[%s]}' % (self._rules.clock.encode(), b",".join(links)))

    async def link(self, request: Request) -> Answer:
        """Show one link."""
        return Answer(await self._link(self._control.link(self._agent(request))))

    async def patch_link(self, request: Request) -> Answer:
        """Disable a link (hold everything, like a blackout) or enable it again."""
        agent = self._agent(request)
        enabled = validated(LinkPatch, await read_json(request)).enabled
        await self._control.apply(
            "enable", lambda plan, _: edits.enable(plan, agent, enabled=enabled), _caller(request)
        )
        return Answer(await self._link(self._control.link(agent)))

    async def add_fault(self, request: Request) -> Answer:
        """Add a fault to a link, or to all of them."""
        agent = self._whose(request)
        body = await read_json(request)
        if isinstance(body, dict) and "agents" in body:
            raise InputError(
                "agents: unknown field; the path says whose link it is, or use PUT /plan", "agents"
            )
        posted = await self._read(body)
        add = partial(edits.add, agent=agent, fault=posted.fault, name=posted.name)
        plan = await self._control.apply("add", add, _caller(request))
        entry = plan.entries[-1]
        where = {"Location": f"{request.scope['path']}/{entry.name}"}
        return Answer(await self._shown.one(entry), 201, headers=where)

    async def patch_fault(self, request: Request) -> Answer:
        """Merge a change into a fault."""
        agent, name = self._whose(request), request.path_params["name"]
        patch = await read_json(request)
        change = partial(edits.change, agent=agent, name=name, patch=patch)
        plan = await self._control.apply("change", change, _caller(request))
        return Answer(await self._shown.one(edits.find(plan, agent, name)))

    async def delete_fault(self, request: Request) -> Answer:
        """Remove a fault."""
        agent, name = self._whose(request), request.path_params["name"]
        await self._control.apply("remove", lambda plan, _: edits.remove(plan, agent, name), _caller(request))
        return Answer(status=204, content_type=None)

    async def plan(self, _request: Request) -> Answer:
        """Show the whole plan."""
        return await self._plan(self._control.plan)

    async def put_plan(self, request: Request) -> Answer:
        """Put another plan in place of the whole: at once, or not at all."""
        body = validated(PlanBody, await read_json(request))
        for position, agent in enumerate(body.disabled):
            if agent >= self._rules.agents:
                field = f"disabled.{position}"
                raise InputError(f"{field} is {agent}: agents are 0 to {self._rules.agents - 1}", field)
        faults, given = await self._faults(body.faults), body.model_fields_set

        def edit(plan: Plan, moment: Moment) -> Plan:
            if "version" in given and body.version != plan.version:
                raise ExistsError(f"the plan's version is {plan.version}, not {body.version}: read it again")
            return edits.replace(plan, moment, faults, body.disabled if "disabled" in given else None)

        return await self._plan(await self._control.apply("replace", edit, _caller(request)))

    async def reset(self, request: Request) -> Answer:
        """Remove every fault."""
        plan = await self._control.apply("reset", lambda plan, _: edits.reset(plan), _caller(request))
        return await self._plan(plan)

    async def events(self, request: Request) -> EventStream:
        """Tell changes and releases as they come."""
        text = request.query_params.get("kinds")
        kinds = KINDS if text is None else tuple(text.split(","))
        if wrong := [kind for kind in kinds if kind not in KINDS]:
            allowed = ", ".join(KINDS)
            raise InputError(f"kinds: {wrong[0]!r} is no kind of event; there are {allowed}", "kinds")
        return EventStream(self._control.events, kinds)

    async def healthz(self, _request: Request) -> Answer:
        """Tell whether agents are served."""
        return Answer(encoded({"status": "ok"})) if self._control.ready else failure(503, "not ready yet")

    async def version(self, _request: Request) -> Answer:
        """Tell which program this is, and which run."""
        return Answer(self._version)

    async def metrics(self, _request: Request) -> Answer:
        """Show metrics in Prometheus' format."""
        return await show_metrics(self._control.registry)

    async def document(self, _request: Request) -> Answer:
        """Show the OpenAPI document. It takes a while to make: no start and no delivery waits for it."""
        if self._document is None:
            self._document = encoded(await self._machine.aside(self._described))
        return Answer(self._document)

    async def docs(self, _request: Request) -> Answer:
        """Show a page on this endpoint."""
        return docs.page()

    async def asset(self, request: Request) -> Answer:
        """Show a file that the page needs."""
        return await self._machine.aside(docs.asset, request.path_params["name"])

    def _agent(self, request: Request) -> int:
        """Return the agent that the path names, in one way only: no 007."""
        text, agents = request.path_params["agent"], self._rules.agents
        if text in map(str, range(agents)):
            return int(text)
        raise UnknownError(f"there is no agent {text!r}: agents are 0 to {agents - 1}")

    def _whose(self, request: Request) -> int | None:
        """Return the agent in the path. None if there is none: then a fault is on all links."""
        return self._agent(request) if "agent" in request.path_params else None

    async def _link(self, link: LinkState) -> bytes:
        numbers, faults = LinkNumbers.text(link, self._rules.clock), await self._shown.on_link(link.faults)
        return b'%s,"faults":%s}' % (numbers[:-1], faults)

    async def _plan(self, plan: Plan) -> Answer:
        """Answer with a plan, as PUT /plan takes it."""
        faults, disabled = await self._shown.plan(plan), encoded(sorted(plan.disabled))
        return Answer(b'{"version":%d,"faults":%s,"disabled":%s}' % (plan.version, faults, disabled))

    async def _faults(self, bodies: list[Any]) -> list[Posted]:
        """Read the faults of a plan, with breaks."""
        faults = []
        for position, body in enumerate(bodies):
            try:
                faults.append(await self._read(body))
            except InputError as error:
                raise error.within(f"faults.{position}") from None
            if position % AT_ONCE == 0:
                await asyncio.sleep(0)
        return faults

    async def _read(self, body: Any) -> Posted:
        """Read a fault. One with a long trace takes a while, so it is read on a thread."""
        own = body.get("attributes", body) if isinstance(body, dict) else None
        trace = own.get("trace") if isinstance(own, dict) else None
        if isinstance(trace, list) and len(trace) > LONG:
            return await self._machine.aside(read_fault, body, self._rules)
        return read_fault(body, self._rules)


def _caller(request: Request) -> str:
    """Return what a caller says of itself (User-Agent), and its address: "curl/8.14.1 at 127.0.0.1".

    The name is a claim: whoever may call may call itself anything. The page's calls come from the observer,
    which says for whose browser: "edgefw-page (192.0.2.7) at 10.0.0.3".
    """
    said = "".join(filter(str.isprintable, request.headers.get("user-agent", "")))
    name = cut(said.strip(), LONGEST_NAME) or "somebody"
    return name if request.client is None else f"{name} at {request.client.host}"


@cache
def _version() -> str:
    return version("edgefw")  # reads a file
