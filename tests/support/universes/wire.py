"""What went over the wire, as somebody sees it who knows nothing of the services.

Only what is checked is kept: what agents submitted, were answered, and got back, and what the broker sent.
What must never be on a wire is said at once: bytes that are not those that were submitted.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from edgefw.v1 import broker_service_pb2 as pb
from edgefw.v1 import observer_service_pb2 as observer_pb

if TYPE_CHECKING:
    from collections.abc import Callable

    from universes.life import Life

Key = tuple[int, int]


@dataclass
class Wire:
    """What was seen; times are the loop's."""

    submitted: dict[Key, bytes] = field(default_factory=dict)
    taken: dict[Key, float] = field(default_factory=dict)  # when the broker read it first
    takes: int = 0  # submissions that the broker has read, copies too
    answered: dict[Key, bool] = field(default_factory=dict)  # whether it was said to be dropped
    promised: dict[Key, Life] = field(default_factory=dict)  # the broker that answered first
    received: dict[Key, float] = field(default_factory=dict)  # when an agent had it first
    givers: dict[Key, set[Life]] = field(default_factory=dict)  # from whom it had it
    scored: set[Key] = field(default_factory=set)  # the plays whose scores the observer has sent
    accounted: int = 0  # the moment up to which it has said that the account is kept
    wrong: list[str] = field(default_factory=list)
    progress: Callable[[], None] = lambda: None

    def wrote(self, call: Any, message: bytes, *, asks: bool) -> None:
        """Note that a message was sent."""
        if asks and call.method == "Submit":
            request = pb.SubmitRequest.FromString(message)
            known = self.submitted.setdefault((request.agent, request.round), request.payload)
            if known != request.payload:
                self.wrong.append(f"agent {request.agent} submits round {request.round} with other bytes")
        elif not asks and call.method == "Submit":
            answer = pb.SubmitResponse.FromString(message)
            self.promised.setdefault((answer.agent, answer.round), call.server)
        elif not asks and call.method in {"Subscribe", "Collect"}:
            self._delivery(call, message)
        elif not asks and call.method == "Report":
            self.scored.add((call.asked, observer_pb.ReportResponse.FromString(message).round))
        elif not asks and call.method == "Account":
            self.accounted = max(self.accounted, observer_pb.AccountResponse.FromString(message).moment)

    def read(self, call: Any, message: bytes, *, asks: bool) -> None:
        """Note that a message has come to the other end."""
        look = getattr(self, f"_{call.method}_{'request' if asks else 'response'}", None)
        if look is not None:
            look(call, message)

    def _Submit_request(self, _call: Any, message: bytes) -> None:  # noqa: N802 - named as the method is
        request = pb.SubmitRequest.FromString(message)
        self.taken.setdefault((request.agent, request.round), asyncio.get_running_loop().time())
        self.takes += 1
        self.progress()

    def _Report_request(self, call: Any, message: bytes) -> None:  # noqa: N802
        request = observer_pb.ReportRequest.FromString(message)
        if request.WhichOneof("content") == "reporter":
            call.asked = request.reporter.agent

    def _Submit_response(self, _call: Any, message: bytes) -> None:  # noqa: N802
        answer = pb.SubmitResponse.FromString(message)
        self.answered[answer.agent, answer.round] = answer.dropped

    def _Subscribe_request(self, call: Any, message: bytes) -> None:  # noqa: N802
        request = pb.SubscribeRequest.FromString(message)
        if request.WhichOneof("content") == "subscription":
            call.asked = request.subscription.agent

    def _Collect_request(self, call: Any, message: bytes) -> None:  # noqa: N802
        call.asked = pb.CollectRequest.FromString(message).agent

    def _Subscribe_response(self, call: Any, message: bytes) -> None:  # noqa: N802
        if (key := self._delivery(call, message)) is None:
            return
        if call.client is None or call.client.name != "stranger":
            self.received.setdefault(key, asyncio.get_running_loop().time())
            self.givers.setdefault(key, set()).add(call.server)

    _Collect_response = _Subscribe_response

    def _delivery(self, call: Any, message: bytes) -> Key | None:
        response: Any = pb.SubscribeResponse if call.method == "Subscribe" else pb.CollectResponse
        content = response.FromString(message)
        if not content.HasField("delivery"):
            return None
        key = call.asked, content.delivery.round
        if self.submitted.get(key) != content.delivery.payload:
            self.wrong.append(f"agent {key[0]} gets other bytes for round {key[1]} than it has submitted")
        return key
