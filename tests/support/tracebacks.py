"""What a log says of errors that nobody caught."""

from __future__ import annotations

import re

_TRACEBACK = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)+", re.MULTILINE)


def of_the_package(log: str) -> list[str]:
    """Return the tracebacks in a log that go through the package's own code.

    gRPC prints one of its own, with no line of ours in it, when a caller leaves before its call has begun.
    """
    return [found for found in _TRACEBACK.findall(log) if "grpc/_cython" not in found or "/edgefw/" in found]
