"""The Compose file of a scenario: one container a service, written so that a person can read it."""

from __future__ import annotations

from importlib import resources
from importlib.metadata import version
from string import Template
from typing import TYPE_CHECKING

from edgefw.scenario.load import dump_brief
from edgefw.transport.credentials import OPERATOR, services

if TYPE_CHECKING:
    from edgefw.scenario.model import Scenario

PYTHON = "python:3.13-slim"  # what docker/Dockerfile builds on
PROMETHEUS = "prom/prometheus:v2.53.4"
GRAFANA = "grafana/grafana:12.1.1"
GRPC = 50051  # where every service listens; 9464 is for metrics and health, see docker/Dockerfile

_AGENT = """\
  agent-{i}:
    <<: *agent
    command: [agent, --agent, "{i}", --join, "observer:{grpc}", --listen, "0.0.0.0:{grpc}",
      --advertise, "agent-{i}:{grpc}", --checkpoints, /var/lib/edgefw/agent-{i}, --stay]"""

_BUILT = "build: {context: ., dockerfile: docker/Dockerfile}"
_TAKEN = "pull_policy: missing"


_UNDER_TLS = """\
  {name}:
    environment: {{EDGEFW_TLS: /run/edgefw-tls}}
    volumes: ["tls-{name}:/run/edgefw-tls:ro"]
    depends_on:
      certs: {{condition: service_completed_successfully}}"""


class _Template(Template):
    """A Compose file has its own use for $."""

    delimiter = "%"


def image() -> str:
    """Return the name of the image that is built from this version."""
    return f"edgefw:{version('edgefw')}"


def render_tls(scenario: Scenario, source: str, other_image: str | None = None) -> str:
    """Return the Compose file that puts the services of `render`'s under TLS, where it is given beside it."""
    names = [name for name in services(scenario.network.agents) if name != OPERATOR]
    template = resources.files(__package__) / "compose.tls.template.yaml"
    return _Template(template.read_text(encoding="utf-8")).substitute(
        source=source.replace("\n", "\n#     "),
        image=other_image or image(),
        agents=scenario.network.agents,
        each_folder="\n".join(f"      - tls-{name}:/certs/{name}" for name in names),
        each_service="\n\n".join(_UNDER_TLS.format(name=name) for name in names),
        each_volume="\n".join(f"  tls-{name}:" for name in names),
    )


def render(scenario: Scenario, source: str, other_image: str | None = None) -> str:
    """Return the Compose file of a scenario; `source` is what the user called it.

    Services run in the image that is built from this version, or in another one that was made from it.
    """
    network = scenario.network
    text = dump_brief(scenario).rstrip("\n").replace("$", "$$")  # Compose would take it for a variable
    template = resources.files(__package__) / "compose.template.yaml"
    return _Template(template.read_text(encoding="utf-8")).substitute(
        name=scenario.name,
        agents=network.agents,
        topology=network.topology,
        source=source.replace("\n", "\n#     "),
        scenario="\n".join(f"  {line}" for line in text.splitlines()),
        image=other_image or image(),
        made=_BUILT if other_image is None else _TAKEN,
        grpc=GRPC,
        each_agent="\n\n".join(_AGENT.format(i=i, grpc=GRPC) for i in range(network.agents)),
        prometheus=PROMETHEUS,
        grafana=GRAFANA,
    )
