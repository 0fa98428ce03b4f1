"""Reading the metrics of services on this machine, as Prometheus would, for the terminal."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from edgefw.http.listening import Connect
    from edgefw.services.config import Place

PATIENCE = 1.0
_REQUEST = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
_LINE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True)
class Sample:
    """One number that a service exports."""

    name: str
    labels: Mapping[str, str]
    value: float


def parse(text: str, names: Collection[str]) -> list[Sample]:
    r"""Return the samples of some names. Only these lines are looked into: most are of no use here.

    >>> parse('a_total{agent="3"} 2.0\nb 1.0', {"a_total"})
    [Sample(name='a_total', labels={'agent': '3'}, value=2.0)]
    """
    samples = []
    for line in text.splitlines():
        if line.partition(" ")[0].partition("{")[0] in names and (found := _LINE.match(line)):
            labels = dict(_LABEL.findall(found[2] or ""))
            samples.append(Sample(found[1], labels, float(found[3])))
    return samples


async def scrape(
    place: Place, names: Collection[str], connect: Connect = asyncio.open_connection
) -> list[Sample]:
    """Return the samples that a service exports now; none where it does not answer."""
    try:
        async with asyncio.timeout(PATIENCE):
            return parse(await _get(place, connect), names)
    except (OSError, TimeoutError):
        return []


async def _get(place: Place, connect: Connect) -> str:
    reader, writer = await connect(place.host, place.metrics_port)
    try:
        writer.write(_REQUEST)
        head, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
    return body.decode() if head.startswith(b"HTTP/1.1 200") else ""
