"""What services logged, and what of it is a mistake of theirs."""

from __future__ import annotations

import re

# gRPC logs this, and prints it again, for a call that is cancelled while it ends: nothing is amiss.
_CANCELLED = re.compile(
    r"(?:.* ERROR Exception not handled by _handle_exceptions in servicer method .*\n)?"
    r"Traceback \(most recent call last\):\n"
    r".*in grpc\._cython\.cygrpc\._schedule_rpc_coro\n"
    r"asyncio\.exceptions\.CancelledError\n"
)


def mistakes(text: str) -> list[str]:
    """Return a log from its first traceback on, leaving out those of gRPC's own.

    >>> mistakes("all is well")
    []
    """
    ours = _CANCELLED.sub("", text)
    begin = ours.find("Traceback")
    return ours[begin:].splitlines() if begin >= 0 else []
