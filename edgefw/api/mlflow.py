"""A run for MLflow: its scenario as parameters, its totals and curves as metrics, over the server's REST API.

The API is MLflow's documented one, version 2.0, which servers of MLflow 2 and 3 have; no package is needed.
"""

from __future__ import annotations

import os
import time
from itertools import islice
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np

from edgefw.api.curves import curves
from edgefw.errors import EdgefwError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgefw.api.run import Run

EXPERIMENT = "edgefw"
_PATIENCE = 30.0  # seconds for an answer
_METRICS, _PARAMETERS, _LONGEST = 1000, 100, 500  # how much a call may hold, and letters of a parameter
_TOTALS = ("rounds", "total_loss", "network_regret", "total_delay", "unused", "wall_seconds")


def send_mlflow(run: Run, url: str, experiment: str = EXPERIMENT) -> str:
    """Send a run to the server at `url`; return where MLflow shows it."""
    if not url.startswith(("http://", "https://")):
        raise InputError(f"{url} is no server of MLflow: give its address, such as http://127.0.0.1:5000")
    with httpx.Client(base_url=url.rstrip("/"), timeout=_PATIENCE, **_login()) as client:
        server = _Server(client)
        place = server.experiment(experiment)
        name = run.scenario.name if run.path is None else run.path.resolve().name
        number = server.begin(place, name, run.scenario.digest)
        server.tell(number, _parameters(run), _metrics(run))
        server.end(number)
    return f"{url.rstrip('/')}/#/experiments/{place}/runs/{number}"


class _Server:
    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def experiment(self, name: str) -> str:
        """Return the number of an experiment, which is made where there is none of that name."""
        found = self._call("GET", "experiments/get-by-name", {"experiment_name": name}, missing=True)
        if found is None:
            return str(self._call("POST", "experiments/create", {"name": name})["experiment_id"])
        return str(found["experiment"]["experiment_id"])

    def begin(self, experiment: str, name: str, digest: str) -> str:
        tags = [{"key": "edgefw.digest", "value": digest}]
        body = {"experiment_id": experiment, "run_name": name, "start_time": _now(), "tags": tags}
        return str(self._call("POST", "runs/create", body)["run"]["info"]["run_id"])

    def tell(
        self, number: str, parameters: Iterator[dict[str, str]], metrics: Iterator[dict[str, Any]]
    ) -> None:
        for key, items, most in (("params", parameters, _PARAMETERS), ("metrics", metrics, _METRICS)):
            while part := list(islice(items, most)):
                self._call("POST", "runs/log-batch", {"run_id": number, key: part})

    def end(self, number: str) -> None:
        self._call("POST", "runs/update", {"run_id": number, "status": "FINISHED", "end_time": _now()})

    def _call(self, verb: str, path: str, body: dict[str, Any], *, missing: bool = False) -> Any:
        where = f"/api/2.0/mlflow/{path}"
        try:
            if verb == "GET":
                answer = self._client.get(where, params=body)
            else:
                answer = self._client.post(where, json=body)
        except httpx.TransportError as error:
            raise EdgefwError(f"MLflow at {self._client.base_url} does not answer: {error}") from None
        if missing and answer.status_code == httpx.codes.NOT_FOUND:
            return None
        if not answer.is_success:
            raise EdgefwError(f"MLflow refuses {path} ({answer.status_code}): {answer.text[:200].strip()}")
        return answer.json()


def _login() -> dict[str, Any]:
    """Return what MLflow's own client would show a server, from the same variables."""
    token = os.environ.get("MLFLOW_TRACKING_TOKEN")
    if token:
        return {"headers": {"Authorization": f"Bearer {token}"}}
    name, password = (os.environ.get(f"MLFLOW_TRACKING_{word}", "") for word in ("USERNAME", "PASSWORD"))
    return {"auth": (name, password)} if name else {}


def _parameters(run: Run) -> Iterator[dict[str, str]]:
    for key, value in _flat(run.scenario.model_dump(mode="json", exclude_none=True)):
        yield {"key": key, "value": str(value)[:_LONGEST]}


def _flat(fields: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield fields by their paths, as `--set` writes them."""
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _metrics(run: Run) -> Iterator[dict[str, Any]]:
    now, last = _now(), len(run.loss)
    for key in _TOTALS:
        value = getattr(run.summary, key)
        if value is not None:
            yield {"key": key, "value": value, "timestamp": now, "step": last}
    for key, values in curves(run).items():
        for t in np.flatnonzero(np.isfinite(values)):
            yield {"key": key, "value": float(values[t]), "timestamp": now, "step": int(t) + 1}


def _now() -> int:
    return int(time.time() * 1000)
