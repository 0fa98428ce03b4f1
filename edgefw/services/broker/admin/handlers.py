"""What the admin endpoint does: one short function for each line of its table."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request  # noqa: TC002 - FastAPI reads the annotations
from starlette.responses import Response

from edgefw.delays import edits
from edgefw.delays.body import Posted, read_fault
from edgefw.delays.refusals import ExistsError, UnknownError
from edgefw.errors import InputError
from edgefw.services.broker.admin.answers import answer, encoded, failure
from edgefw.services.broker.admin.docs import asset, make_page
from edgefw.services.broker.admin.events import KINDS
from edgefw.services.broker.admin.reading import read_enabled, read_json, read_plan, without_agents
from edgefw.services.broker.admin.stream import EventStream
from edgefw.services.broker.admin.views import (
    LONG,
    Control,
    LinkState,
    Shown,
    link_view,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client import CollectorRegistry, Metric

    from edgefw.delays.fault import Rules
    from edgefw.delays.plan import Moment, Plan

AT_ONCE = 8  # links or faults that are worked on before others get their turn: delivery does not wait


class Handlers:
    """The calls of the endpoint; `control` is the broker."""

    def __init__(self, control: Control) -> None:
        self._control, self._shown = control, Shown()
        rules = control.plan.rules
        self._version = {
            "name": "edgefw",
            "version": version("edgefw"),
            "clock": rules.clock,
            "agents": rules.agents,
        }

    async def links(self, request: Request) -> Response:
        """Every link: state, queue depth, oldest age, faults in force."""
        del request
        rules, links = self._control.plan.rules, []
        for agent in range(rules.agents):
            links.append(await self._link(self._control.link(agent)))
            if agent % AT_ONCE == 0:
                await asyncio.sleep(0)
        return _json(b'{"clock":"%s","links":[%s]}' % (rules.clock.encode(), b",".join(links)))

    async def link(self, request: Request) -> Response:
        """One link."""
        return _json(await self._link(self._control.link(self._agent(request))))

    async def patch_link(self, request: Request) -> Response:
        """Disable a link (hold everything, like a blackout) or enable it again."""
        agent = self._agent(request)
        enabled = read_enabled(await read_json(request))
        await self._control.apply("enable", lambda plan, _: edits.enable(plan, agent, enabled=enabled))
        return _json(await self._link(self._control.link(agent)))

    async def add_fault(self, request: Request) -> Response:
        """Add a fault to a link, or to all of them."""
        agent = self._agent(request) if "agent" in request.path_params else None
        posted = await _read(without_agents(await read_json(request)), self._control.plan.rules)
        plan = await self._control.apply(
            "add", lambda plan, moment: edits.add(plan, moment, agent, posted.fault, posted.name)
        )
        entry = plan.entries[-1]
        return _json(await self._shown.one(entry), 201, {"Location": f"{request.url.path}/{entry.name}"})

    async def patch_fault(self, request: Request) -> Response:
        """Merge a change into a fault."""
        agent, name = self._key(request)
        patch = await read_json(request)
        plan = await self._control.apply(
            "change", lambda plan, moment: edits.change(plan, moment, agent, name, patch)
        )
        return _json(await self._shown.one(edits.find(plan, agent, name)))

    async def delete_fault(self, request: Request) -> Response:
        """Remove a fault."""
        agent, name = self._key(request)
        await self._control.apply("remove", lambda plan, _: edits.remove(plan, agent, name))
        return Response(status_code=204)

    async def plan(self, request: Request) -> Response:
        """Show the whole plan."""
        del request
        return await self._plan(self._control.plan)

    async def put_plan(self, request: Request) -> Response:
        """Put another plan in place of the whole: at once, or not at all."""
        body = read_plan(await read_json(request), self._control.plan.rules.agents)
        faults = await self._faults(body["faults"])

        def edit(plan: Plan, moment: Moment) -> Plan:
            if body.get("version", plan.version) != plan.version:
                raise ExistsError(
                    f"the plan's version is {plan.version}, not {body['version']}: read it again"
                )
            return edits.replace(plan, moment, faults, body.get("disabled"))

        return await self._plan(await self._control.apply("replace", edit))

    async def reset(self, request: Request) -> Response:
        """Remove every fault."""
        del request
        return await self._plan(await self._control.apply("reset", lambda plan, _: edits.reset(plan)))

    async def events(self, request: Request) -> Response:
        """Tell changes and releases as they come."""
        text = request.query_params.get("kinds")
        kinds = KINDS if text is None else tuple(text.split(","))
        if wrong := [kind for kind in kinds if kind not in KINDS]:
            allowed = ", ".join(KINDS)
            raise InputError(f"kinds: {wrong[0]!r} is no kind of event; there are {allowed}", "kinds")
        return EventStream(self._control.events, kinds)

    async def healthz(self, request: Request) -> Response:
        """Whether agents are served."""
        del request
        return answer({"status": "ok"}) if self._control.ready else failure(503, "not ready yet")

    async def version(self, request: Request) -> Response:
        """Which program this is, and which run."""
        del request
        return answer(self._version)

    async def metrics(self, request: Request) -> Response:
        """Metrics in Prometheus' format, one family at a time: feedback that is due does not wait for all."""
        del request
        pieces = []
        for piece in _families(self._control.registry):
            pieces.append(piece)
            await asyncio.sleep(0)
        return Response(b"".join(pieces), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def docs(self, request: Request) -> Response:
        """Show a page on this endpoint."""
        return make_page(request.app.title)

    async def asset(self, request: Request) -> Response:
        """Show a file that the page needs."""
        return asset(request.path_params["name"])

    def _agent(self, request: Request) -> int:
        """Return the agent that the path names, in one way only: no 007."""
        text, plan = request.path_params["agent"], self._control.plan
        if not (text.isascii() and text.isdecimal() and len(text) < 10 and str(int(text)) == text):
            raise UnknownError(f"there is no agent {text!r}: agents are 0 to {plan.rules.agents - 1}")
        edits.check_agent(plan, int(text))
        return int(text)

    def _key(self, request: Request) -> tuple[int | None, str]:
        agent = self._agent(request) if "agent" in request.path_params else None
        return agent, request.path_params["name"]

    async def _link(self, link: LinkState) -> bytes:
        view = encoded(link_view(link, self._control.plan.rules.clock))
        return b'%s,"faults":%s}' % (view[:-1], await self._shown.on_link(link.faults))

    async def _plan(self, plan: Plan) -> Response:
        """Answer with a plan, as PUT /plan takes it."""
        faults, disabled = await self._shown.plan(plan), encoded(sorted(plan.disabled))
        return _json(b'{"version":%d,"faults":%s,"disabled":%s}' % (plan.version, faults, disabled))

    async def _faults(self, bodies: list[Any]) -> list[Posted]:
        """Read the faults of a plan, with breaks."""
        rules, faults = self._control.plan.rules, []
        for position, body in enumerate(bodies):
            try:
                faults.append(await _read(body, rules))
            except InputError as error:
                raise error.within(f"faults.{position}") from None
            if position % AT_ONCE == 0:
                await asyncio.sleep(0)
        return faults


def _json(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(body, status, headers, media_type="application/json")


async def _read(body: Any, rules: Rules) -> Posted:
    """Read a fault; one with a long trace beside everything else, for it takes a while."""
    own = body.get("attributes", body) if isinstance(body, dict) else None
    trace = own.get("trace") if isinstance(own, dict) else None
    if isinstance(trace, list) and len(trace) > LONG:
        return await asyncio.to_thread(read_fault, body, rules)
    return read_fault(body, rules)


class _One:
    """A registry of one family."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> list[Metric]:
        return [self._family]


def _families(registry: CollectorRegistry) -> Iterator[bytes]:
    for family in registry.collect():
        yield generate_latest(_One(family))
