"""The OpenAPI document: what every call takes, and every status that it can answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from edgefw.services.broker.admin.events import KINDS, MOST_LISTENERS
from edgefw.services.broker.admin.reading import LARGEST_BODY, TYPES
from edgefw.services.broker.admin.schemas import ref
from edgefw.services.broker.admin.views import SHOWN_TRACE

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
_SLOW = {"type": "latency", "attributes": {"latency": "750ms", "jitter": "200ms"}, "duration": "30s"}
_LATE = {"type": "rounds", "attributes": {"rounds": 20, "jitter": 5}, "duration": 100}
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
_STREAM = (
    "Server-sent events: `change` (the plan has another version) and `release` (feedback came due). A "
    "comment shows now and then that the stream stands. A reader that is too slow loses the oldest and gets "
    "a `lost` event with their count; the stream of one that does not read at all is ended. "
    f"{MOST_LISTENERS} may listen: for one more, the oldest stream of the client that has most of them ends."
)

CALLS = (
    Call("GET", "/links", "links", "Every link and the faults in force on it", "Links", about=_CUT),
    Call("GET", "/links/{agent}", "link", "One link", "Link", refusals=(404,), about=_CUT),
    Call(
        "PATCH",
        "/links/{agent}",
        "patch_link",
        "Disable a link (hold everything, like a blackout) or enable it again",
        "Link",
        "LinkPatch",
        refusals=(404, 507, *BODY),
    ),
    Call(
        "POST",
        "/links/{agent}/faults",
        "add_fault",
        "Add a fault to a link",
        "FaultShown",
        "Fault",
        status=201,
        refusals=(404, *CHANGES, *BODY),
        about=_ADDED,
    ),
    Call(
        "POST",
        "/faults",
        "add_fault",
        "Add a fault to all links",
        "FaultShown",
        "Fault",
        status=201,
        refusals=(*CHANGES, *BODY),
        about=_ADDED,
    ),
    *(
        call
        for path, whose in (("/links/{agent}/faults/{name}", "a link"), ("/faults/{name}", "all links"))
        for call in (
            Call(
                "PATCH",
                path,
                "patch_fault",
                f"Change a fault on {whose}",
                "FaultShown",
                "FaultPatch",
                refusals=(404, 507, *BODY),
                about=_MERGE,
            ),
            Call(
                "DELETE",
                path,
                "delete_fault",
                f"Remove a fault on {whose}",
                status=204,
                refusals=(404, 507),
            ),
        )
    ),
    Call("GET", "/plan", "plan", "The whole delay plan, as PUT takes it", "PlanShown"),
    Call(
        "PUT",
        "/plan",
        "put_plan",
        "Replace the whole delay plan, at once or not at all",
        "PlanShown",
        "Plan",
        refusals=(*CHANGES, *BODY),
        about="A fault that is there already, just as it stands here, goes on untouched. Without `disabled`, "
        "links that are disabled stay so: the answer says which.",
    ),
    Call(
        "POST",
        "/reset",
        "reset",
        "Remove every fault",
        "PlanShown",
        refusals=(507,),
        about="A disabled link is no fault and stays disabled: the answer says which are. Enable them one by "
        "one, or with PUT /plan.",
    ),
    Call(
        "GET",
        "/events",
        "events",
        "Changes and releases as they come",
        refusals=(400,),
        media="text/event-stream",
        about=_STREAM,
    ),
    Call("GET", "/healthz", "healthz", "Whether agents are served", refusals=(503,)),
    Call("GET", "/version", "version", "Which program this is, and which run"),
    Call("GET", "/metrics", "metrics", "Metrics for Prometheus", media="text/plain"),
    Call("GET", "/docs", "docs", "This document as a page", media="text/html"),
)


def operation(call: Call, rules: Rules, *, token: bool) -> dict[str, Any]:
    """Return what FastAPI is told about a call beside its path."""
    own = {"parameters": _parameters(call, rules), "requestBody": _body(call, rules)}
    if token:
        own["security"] = [] if call.path == "/healthz" else [{"bearer": []}]
    return {
        "summary": call.summary,
        "description": call.about,
        "operation_id": f"{call.verb.lower()}{call.path.replace('/', '_').replace('{', '').replace('}', '')}",
        "status_code": call.status,
        "response_description": "done" if call.gives is None else call.gives,
        "responses": _responses(call, token=token),
        "openapi_extra": {name: value for name, value in own.items() if value is not None},
    }


def _responses(call: Call, *, token: bool) -> dict[int | str, dict[str, Any]]:
    refusals = [*call.refusals, 403, *([401] if token and call.path != "/healthz" else [])]
    error = {"content": {"application/json": {"schema": ref("Error")}}}
    responses: dict[int | str, dict[str, Any]] = {
        status: {"description": _MEANING[status], **error} for status in sorted(refusals)
    }
    if call.status != 204:
        schema = {"type": "string"} if call.media.startswith("text") else {"type": "object"}
        given = ref(call.gives) if call.gives else schema
        responses[call.status] = {"content": {call.media: {"schema": given}}}
    return responses


def _parameters(call: Call, rules: Rules) -> list[dict[str, Any]]:
    found = []
    if "{agent}" in call.path:
        schema: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": rules.agents - 1}
        found.append({"name": "agent", "in": "path", "required": True, "schema": schema})
    if "{name}" in call.path:
        found.append({"name": "name", "in": "path", "required": True, "schema": {"type": "string"}})
    if call.path == "/events":
        listed = {"type": "array", "items": {"enum": list(KINDS)}, "minItems": 1}
        text = "which kinds, with commas between them; all if left out"
        found.append(
            {
                "name": "kinds",
                "in": "query",
                "schema": listed,
                "style": "form",
                "explode": False,
                "description": text,
            }
        )
    return found


def _body(call: Call, rules: Rules) -> dict[str, Any] | None:
    if call.takes is None:
        return None
    fault = _SLOW if rules.clock == "wall" else _LATE
    examples = {
        "Fault": fault,
        "FaultPatch": {"attributes": fault["attributes"]},
        "LinkPatch": {"enabled": False},
        "Plan": {"faults": [{"agents": [0], **fault}]},
    }
    content = {"schema": ref(call.takes), "examples": {"example": {"value": examples[call.takes]}}}
    kinds = TYPES if call.takes == "FaultPatch" else TYPES[:1]
    return {"required": True, "content": dict.fromkeys(kinds, content)}
