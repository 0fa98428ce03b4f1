"""The Compose file of a scenario: one container a service, written so that a person can read it."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from edgefw.scenario.load import dump_brief

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgefw.scenario.model import Scenario

PYTHON = "python:3.13-slim"  # what docker/Dockerfile builds on
PROMETHEUS = "prom/prometheus:v2.53.4"
GRAFANA = "grafana/grafana:12.1.1"
GRPC = 50051  # where every service listens; 9464 is for metrics and health, see docker/Dockerfile

_HEAD = """\
# {name}: {agents} agents ({topology}), broker, observer, Prometheus, Grafana. Written by
#   edgefw compose {source}
# Grafana http://127.0.0.1:3000, Prometheus http://127.0.0.1:9090, delays http://127.0.0.1:7070/docs;
# where a port is taken, set EDGEFW_GRAFANA_PORT, EDGEFW_PROMETHEUS_PORT or EDGEFW_ADMIN_PORT.
name: edgefw

# The run: change it here, or write this file again for another scenario.
x-scenario: &scenario |
{scenario}

x-log: &log {{driver: json-file, options: {{max-size: 10m, max-file: "3"}}}}

x-service: &service
  image: {image}
  init: true
  restart: unless-stopped
  stop_grace_period: 20s
  read_only: true
  tmpfs: [/tmp]
  cap_drop: [ALL]
  security_opt: [no-new-privileges:true]
  pids_limit: 128
  logging: *log

x-agent: &agent
  <<: *service
  pull_policy: never # the observer's is built
  depends_on:
    observer: {{condition: service_healthy}}
    broker: {{condition: service_healthy}}
  mem_limit: 256m
  cpus: 1.0

services:
  # Knows the scenario: everyone else joins it. Scores plays, keeps the record of each run.
  observer:
    <<: *service
    build: {{context: ., dockerfile: docker/Dockerfile}}
    command: [observer, --runs, /var/lib/edgefw/runs, --listen, "0.0.0.0:{grpc}", --stay]
    environment: {{EDGEFW_SCENARIO: *scenario}}
    volumes: [runs:/var/lib/edgefw]
    mem_limit: 2g
    cpus: 1.5

  # Holds feedback back. Its admin endpoint may listen widely: the port is published on this machine alone.
  broker:
    <<: *service
    pull_policy: never
    command: [broker, --join, "observer:{grpc}", --listen, "0.0.0.0:{grpc}", --advertise, "broker:{grpc}",
      --journal, /var/lib/edgefw/journal.sqlite, --admin, "0.0.0.0:7070", --admin-open, --admin-name, broker]
    depends_on:
      observer: {{condition: service_healthy}}
    ports: ["127.0.0.1:${{EDGEFW_ADMIN_PORT:-7070}}:7070"]
    volumes: [journal:/var/lib/edgefw]
    mem_limit: 2g
    cpus: 1.0
"""
_AGENT = """
  agent-{i}:
    <<: *agent
    command: [agent, --agent, "{i}", --join, "observer:{grpc}", --listen, "0.0.0.0:{grpc}",
      --advertise, "agent-{i}:{grpc}", --stay]
"""
_TAIL = """
  prometheus:
    image: {prometheus}
    restart: unless-stopped
    logging: *log
    command: [--config.file=/etc/prometheus/prometheus.yml, --storage.tsdb.path=/prometheus,
      --storage.tsdb.retention.time=2d]
    healthcheck: {{test: [CMD, /bin/promtool, check, ready], interval: 5s, timeout: 3s}}
    read_only: true
    cap_drop: [ALL]
    security_opt: [no-new-privileges:true]
    ports: ["127.0.0.1:${{EDGEFW_PROMETHEUS_PORT:-9090}}:9090"]
    volumes: [./docker/prometheus:/etc/prometheus:ro, prometheus:/prometheus]
    mem_limit: 1g
    cpus: 1.0

  grafana:
    image: {grafana}
    restart: unless-stopped
    logging: *log
    healthcheck:
      test: [CMD, wget, -q, -O, /dev/null, "http://127.0.0.1:3000/api/health"]
      interval: 5s
      timeout: 3s
    environment:
      GF_AUTH_ANONYMOUS_ENABLED: "true"
      GF_AUTH_ANONYMOUS_ORG_ROLE: Viewer
      GF_ANALYTICS_REPORTING_ENABLED: "false"
      GF_ANALYTICS_CHECK_FOR_UPDATES: "false"
      GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH: /etc/grafana/dashboards/edgefw.json
    read_only: true
    tmpfs: [/tmp]
    cap_drop: [ALL]
    security_opt: [no-new-privileges:true]
    ports: ["127.0.0.1:${{EDGEFW_GRAFANA_PORT:-3000}}:3000"]
    volumes:
      - ./docker/grafana/provisioning/dashboards:/etc/grafana/provisioning/dashboards:ro
      - ./docker/grafana/provisioning/datasources:/etc/grafana/provisioning/datasources:ro
      - ./docker/grafana/dashboards:/etc/grafana/dashboards:ro
      - grafana:/var/lib/grafana
    depends_on: [prometheus]
    mem_limit: 512m
    cpus: 1.0

volumes:
  runs: # a folder for every run: `edgefw collect` brings one out
  journal: # what the broker holds
  prometheus:
  grafana:
"""


def image() -> str:
    """Return the name of the image that is built from this version."""
    return f"edgefw:{version('edgefw')}"


def render(scenario: Scenario, source: str) -> str:
    """Return the Compose file of a scenario; `source` is what the user called it."""
    return "".join(_parts(scenario, source))


def _parts(scenario: Scenario, source: str) -> Iterator[str]:
    network = scenario.network
    text = dump_brief(scenario).rstrip("\n").replace("$", "$$")  # Compose would take it for a variable
    yield _HEAD.format(
        name=scenario.name,
        agents=network.agents,
        topology=network.topology,
        source=source.replace("\n", "\n#     "),
        scenario="\n".join(f"  {line}" for line in text.splitlines()),
        image=image(),
        grpc=GRPC,
    )
    for i in range(network.agents):
        yield _AGENT.format(i=i, grpc=GRPC)
    yield _TAIL.format(prometheus=PROMETHEUS, grafana=GRAFANA)
