"""As much of Docker's engine as commands ask for, told what it has: a real one has what it has."""

from __future__ import annotations

import json
import socketserver
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

from edgefw.containers.compose import GRAFANA, PROMETHEUS, PYTHON

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class ToldEngine(socketserver.ThreadingUnixStreamServer):
    """As much of an engine as is asked: which images it has, which it could pull, whose ports are whose."""

    daemon_threads = True
    api = "1.41"
    here: frozenset[str] = frozenset({PYTHON, PROMETHEUS, GRAFANA})
    elsewhere: frozenset[str] = frozenset()
    containers: tuple[dict[str, Any], ...] = ()

    @property
    def host(self) -> str:
        """What DOCKER_HOST has to be."""
        return f"unix://{self.server_address!s}"


class _Answers(BaseHTTPRequestHandler):
    server: ToldEngine

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].removeprefix("/v1.41").removeprefix(f"/v{self.server.api}")
        kind, _, name = path.strip("/").partition("/")
        name = name.removesuffix("/json")
        known = {"images": self.server.here, "distribution": self.server.elsewhere}.get(kind)
        found: Any
        if known is not None:
            found = {"Id": "x", "Descriptor": {"digest": "x"}, "Platforms": []} if name in known else None
        elif name and kind == "containers":
            found = next((c for c in self.server.containers if c["Id"] == name), [*self.server.containers])
        else:
            found = {"Version": "20.10.24", "ApiVersion": self.server.api, "MinAPIVersion": "1.12"}
        body = json.dumps({"message": "no such thing"} if found is None else found).encode()
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        return "here"

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def told_engine(path: Path) -> Iterator[ToldEngine]:
    """Run one at a socket, while the block runs; it has all images and no containers."""
    server = ToldEngine(str(path), _Answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
