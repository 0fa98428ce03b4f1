"""What an agent is told when it joins: plain data, so that it loads nothing it can spare.

It needs neither the scenario's model nor the graph's library nor anybody else's samples.
"""

from __future__ import annotations

import io
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from edgefw.core.agent import AgentSpec
from edgefw.errors import InputError
from edgefw.problem.dataset import Dataset

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Place:
    """Where a service listens, and where others find it: gRPC, and HTTP for metrics and health."""

    host: str
    port: int
    metrics_port: int
    names: frozenset[str] = frozenset()  # host names that others call it by, beside localhost and addresses

    @property
    def address(self) -> str:
        """Host and port of its gRPC server."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True)
class AgentConfig:
    """All that the process of one agent has to know."""

    spec: AgentSpec
    run_id: str  # what everyone calls the run by
    rounds: int
    clock: str  # wall | rounds
    pace: float  # seconds a round, 0 for as fast as it goes
    peer_timeout: float
    loss: str
    batch: int
    in_order: bool  # whether the stream is read in the shard's order (drifting data)
    classes: int
    scale: float
    peers: Mapping[int, str]  # neighbour -> address
    broker: str
    loss_params: Mapping[str, Any] = field(default_factory=dict)
    compute: float = 0.0  # seconds that it computes at least in every exchange
    checkpoint_every: int = 5  # rounds

    def to_json(self) -> str:
        """Return the configuration as text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> AgentConfig:
        """Return the configuration of a text that `to_json` made."""
        try:
            fields = json.loads(text)
        except ValueError as error:
            raise InputError(f"this is no configuration of an agent: {error}") from None
        spec = fields.pop("spec")
        spec |= {
            "weights": _by_id(spec["weights"]),
            "shape": tuple(spec["shape"]),
            "steps": tuple(spec["steps"]),
        }
        return cls(spec=AgentSpec(**spec), peers=_by_id(fields.pop("peers")), **fields)


def _by_id(mapping: Mapping[str, Any]) -> dict[int, Any]:
    return {int(key): value for key, value in mapping.items()}


def pack_shard(features: np.ndarray, labels: np.ndarray) -> memoryview:
    """Return an agent's samples, (size, m) and (size,), as bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, features=features, labels=labels)
    return buffer.getbuffer()


def unpack_shard(packed: bytes, config: AgentConfig) -> Dataset:
    """Return an agent's samples as a data set of their own."""
    try:
        with np.load(io.BytesIO(packed), allow_pickle=False) as stored:
            features, labels = stored["features"], stored["labels"]
    except (OSError, EOFError, KeyError, ValueError, BadZipFile) as error:
        raise InputError(f"these are no samples of an agent: {error}") from None
    return Dataset(f"agent-{config.spec.agent}", features, labels, config.classes, config.scale)
