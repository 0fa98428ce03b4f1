"""A server that takes what MLflow's REST API (2.0) takes, and refuses what it refuses, in memory."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIX = "/api/2.0/mlflow/"


class Mlflow:
    """What the server has been told."""

    def __init__(self) -> None:
        self.url = ""
        self.experiments: dict[str, str] = {}
        self.runs: dict[str, dict[str, Any]] = {}
        self.params: dict[str, str] = {}
        self.metrics: dict[tuple[str, int], float] = {}
        self.authorizations: set[str | None] = set()

    def answer(self, path: str, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if path == "experiments/get-by-name":
            found = self.experiments.get(asked["experiment_name"])
            return (200, {"experiment": {"experiment_id": found}}) if found else (404, {"error_code": "NONE"})
        if path == "experiments/create":
            self.experiments[asked["name"]] = number = str(len(self.experiments) + 1)
            return 200, {"experiment_id": number}
        if path == "runs/create":
            number = f"run{len(self.runs)}"
            self.runs[number] = asked | {"status": "RUNNING"}
            return 200, {"run": {"info": {"run_id": number}}}
        run = self.runs[asked.pop("run_id")]
        if path == "runs/update":
            run.update(asked)
            return 200, {}
        return self._log(asked.get("params", []), asked.get("metrics", []))

    def _log(self, params: list[dict[str, str]], metrics: list[dict[str, Any]]) -> tuple[int, dict[str, Any]]:
        if len(params) > 100 or len(metrics) > 1000 or any(len(each["value"]) > 500 for each in params):
            return 400, {"error_code": "INVALID_PARAMETER_VALUE"}
        self.params |= {each["key"]: each["value"] for each in params}
        self.metrics |= {(each["key"], each["step"]): each["value"] for each in metrics}
        return 200, {}


@contextmanager
def mlflow_server() -> Iterator[Mlflow]:
    """Serve while the block runs."""
    told = Mlflow()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            self._answer({key: values[0] for key, values in query.items()})

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, asked: dict[str, Any]) -> None:
            told.authorizations.add(self.headers["Authorization"])
            status, found = told.answer(urlsplit(self.path).path.removeprefix(_PREFIX), asked)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield told
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
