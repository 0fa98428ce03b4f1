"""What each service is handed when it starts: plain files, so that an agent loads nothing it can spare.

An agent reads one JSON file and its own shard. It needs neither the scenario's model nor the graph's library.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.core.agent import AgentSpec
from edgefw.errors import InputError
from edgefw.problem.dataset import Dataset

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Place:
    """Where a service listens, and where others find it: gRPC, and HTTP for metrics and health."""

    host: str
    port: int
    metrics_port: int

    @property
    def address(self) -> str:
        """Host and port of its gRPC server."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True)
class AgentConfig:
    """All that the process of one agent has to know."""

    spec: AgentSpec
    digest: str
    rounds: int
    clock: str  # wall | rounds
    pace: float  # seconds a round, 0 for as fast as it goes
    peer_timeout: float
    loss: str
    batch: int
    in_order: bool  # whether the stream is read in the shard's order (drifting data)
    classes: int
    scale: float
    listen: Place
    peers: Mapping[int, str]  # neighbour -> address
    broker: str
    observer: str

    def save(self, path: Path) -> None:
        """Write the configuration."""
        path.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> AgentConfig:
        """Read what `save` wrote."""
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError) as error:
            raise InputError(f"cannot read the agent's configuration {path}: {error}") from None
        spec = fields.pop("spec")
        spec |= {
            "weights": _by_id(spec["weights"]),
            "shape": tuple(spec["shape"]),
            "steps": tuple(spec["steps"]),
        }
        places: dict[str, Any] = {
            "listen": Place(**fields.pop("listen")),
            "peers": _by_id(fields.pop("peers")),
        }
        return cls(spec=AgentSpec(**spec), **places, **fields)


def _by_id(mapping: Mapping[str, Any]) -> dict[int, Any]:
    return {int(key): value for key, value in mapping.items()}


def save_shard(path: Path, features: np.ndarray, labels: np.ndarray) -> None:
    """Write an agent's samples, (size, m) and (size,)."""
    with path.open("wb") as file:
        np.savez(file, features=features, labels=labels)


def load_shard(path: Path, config: AgentConfig) -> Dataset:
    """Read an agent's samples as a data set of their own."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            features, labels = stored["features"], stored["labels"]
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"cannot read the agent's shard {path}: {error}") from None
    return Dataset(path.stem, features, labels, config.classes, config.scale)
