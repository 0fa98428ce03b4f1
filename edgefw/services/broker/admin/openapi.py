"""The table of calls, and the OpenAPI document made of it: what each takes, every status it can answer."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

from edgefw.http.body import LARGEST_BODY, TYPES
from edgefw.services.broker.admin.schemas import REF, components
from edgefw.services.broker.admin.views import SHOWN_TRACE
from edgefw.services.broker.events import KINDS, MOST_LISTENERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgefw.delays.fault import Rules

ABOUT = (
    "Look at links and change delays while a run goes on. Durations are strings such as 750ms, 2s or 1.5m; a "
    "number is a number of rounds. Unknown fields are refused. Several faults on a link add up. This page is "
    "about a run under the {clock} clock with {agents} agents."
)
_MEANING = {
    400: "the body (or a parameter) is wrong: `field` says where",
    401: "no token, or another one",
    403: "a foreign Host or Origin",
    404: "no such agent or fault",
    409: "it exists already, the plan is full, or its version is another",
    413: f"the body has more than {LARGEST_BODY} bytes",
    415: "the body is not sent as JSON",
    503: "not now",
    507: "no room on the broker's disk: nothing has changed",
}
CHANGES = (409, 507)
BODY = (400, 413, 415)


class Call(NamedTuple):
    """One call: what it does, what it takes and gives (names of schemas), what it is refused with."""

    verb: str
    path: str
    handler: str
    summary: str
    gives: str | None = None
    takes: str | None = None
    status: int = 200
    refusals: Sequence[int] = ()
    media: str = "application/json"
    about: str = ""


_MERGE = "Merged by RFC 7396: null removes a field. A duration that is given counts from now (or from `at`)."
_ADDED = "409 if the name is taken. Without a duration it stays until it is removed."
_CUT = f"Of a trace only the first {SHOWN_TRACE} values are shown here: GET /plan has it whole."
_REPLACED = (
    "A fault that is there already, just as it stands here, goes on untouched. Without `disabled`, "
    "links that are disabled stay so: the answer says which."
)
_RESET = (
    "A disabled link is no fault and stays disabled: the answer says which are. Enable them one by one, or "
    "with PUT /plan."
)
_STREAM = (
    "Server-sent events: `change` (the plan has another version) and `release` (feedback came due). A "
    "comment shows now and then that the stream stands. A reader that is too slow loses the oldest and gets "
    "a `lost` event with their count; the stream of one that does not read at all is ended. "
    f"{MOST_LISTENERS} may listen: for one more, the oldest stream of the client that has most of them ends."
)


def _on_faults(where: str, whose: str, *unknown: int) -> tuple[Call, ...]:
    """Return the calls on the faults of a link, or on those of all links."""
    fault = (f"{where}/{{name}}", "FaultShown", "FaultPatch")
    added, changed = (*unknown, *CHANGES, *BODY), (404, 507, *BODY)
    return (
        Call(
            "POST",
            where,
            "add_fault",
            f"Add a fault to {whose}",
            "FaultShown",
            "Fault",
            201,
            added,
            about=_ADDED,
        ),
        Call(
            "PATCH",
            fault[0],
            "patch_fault",
            f"Change a fault on {whose}",
            *fault[1:],
            200,
            changed,
            about=_MERGE,
        ),
        Call(
            "DELETE", fault[0], "delete_fault", f"Remove a fault on {whose}", status=204, refusals=(404, 507)
        ),
    )


_SWITCH = "Disable a link (hold everything, like a blackout) or enable it again"
_PUT = "Replace the whole delay plan, at once or not at all"

CALLS = (
    Call("GET", "/links", "links", "Every link and the faults in force on it", "LinksShown", about=_CUT),
    Call("GET", "/links/{agent}", "link", "One link", "LinkShown", refusals=(404,), about=_CUT),
    Call("PATCH", "/links/{agent}", "patch_link", _SWITCH, "LinkShown", "LinkPatch", 200, (404, 507, *BODY)),
    *_on_faults("/links/{agent}/faults", "a link", 404),
    *_on_faults("/faults", "all links"),
    Call("GET", "/plan", "plan", "The whole delay plan, as PUT takes it", "PlanShown"),
    Call("PUT", "/plan", "put_plan", _PUT, "PlanShown", "PlanBody", 200, (*CHANGES, *BODY), about=_REPLACED),
    Call("POST", "/reset", "reset", "Remove every fault", "PlanShown", refusals=(507,), about=_RESET),
    Call(
        *("GET", "/events", "events", "Changes and releases as they come"),
        refusals=(400,),
        media="text/event-stream",
        about=_STREAM,
    ),
    Call("GET", "/healthz", "healthz", "Whether agents are served", refusals=(503,)),
    Call("GET", "/version", "version", "Which program this is, and which run"),
    Call("GET", "/metrics", "metrics", "Metrics for Prometheus", media="text/plain"),
    Call("GET", "/docs", "docs", "This document as a page", media="text/html"),
)


def document(rules: Rules, *, token: bool) -> dict[str, Any]:
    """Return the document of a run's endpoint."""
    about = ABOUT.format(clock=rules.clock, agents=rules.agents)
    parts: dict[str, Any] = {"schemas": components(rules)}
    if token:
        parts["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
    paths: dict[str, dict[str, Any]] = {}
    for call in CALLS:
        paths.setdefault(call.path, {})[call.verb.lower()] = _operation(call, rules, token=token)
    info = {"title": "edgefw broker", "version": version("edgefw"), "description": about}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": parts}


def _operation(call: Call, rules: Rules, *, token: bool) -> dict[str, Any]:
    asked = token and call.path != "/healthz"
    found = {
        "summary": call.summary,
        "description": call.about,
        "operationId": f"{call.verb.lower()}{call.path.replace('/', '_').replace('{', '').replace('}', '')}",
        "parameters": _parameters(call, rules),
        "responses": _responses(call, asked=asked),
    }
    if call.takes is not None:
        found["requestBody"] = _body(call.takes, rules)
    return found | ({"security": [{"bearer": []}]} if asked else {})


def _responses(call: Call, *, asked: bool) -> dict[str, Any]:
    given = {"type": "string" if call.media.startswith("text") else "object"}
    done: dict[str, Any] = {"description": call.gives or "done"}
    if call.status != 204:
        done["content"] = {call.media: {"schema": _ref(call.gives) if call.gives else given}}
    error = {"content": {"application/json": {"schema": _ref("Refusal")}}}
    refusals = sorted([*call.refusals, 403, *([401] if asked else [])])
    return {str(call.status): done} | {
        str(status): {"description": _MEANING[status], **error} for status in refusals
    }


def _parameters(call: Call, rules: Rules) -> list[dict[str, Any]]:
    agent = {"type": "integer", "minimum": 0, "maximum": rules.agents - 1}
    kinds = {"type": "array", "items": {"enum": list(KINDS)}, "minItems": 1}
    found: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name, schema in (("agent", agent), ("name", {"type": "string"}))
        if f"{{{name}}}" in call.path
    ]
    if call.path == "/events":
        text = "which kinds, with commas between them; all if left out"
        listed = {"style": "form", "explode": False, "description": text}
        found.append({"name": "kinds", "in": "query", "schema": kinds, **listed})
    return found


def _body(takes: str, rules: Rules) -> dict[str, Any]:
    slow = {"type": "latency", "attributes": {"latency": "750ms", "jitter": "200ms"}, "duration": "30s"}
    late = {"type": "rounds", "attributes": {"rounds": 20, "jitter": 5}, "duration": 100}
    fault = slow if rules.clock == "wall" else late
    examples = {
        "Fault": fault,
        "FaultPatch": {"attributes": fault["attributes"]},
        "LinkPatch": {"enabled": False},
        "PlanBody": {"faults": [{"agents": [0], **fault}]},
    }
    content = {"schema": _ref(takes), "examples": {"example": {"value": examples[takes]}}}
    return {
        "required": True,
        "content": dict.fromkeys(TYPES if takes == "FaultPatch" else TYPES[:1], content),
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": REF.format(model=name)}
