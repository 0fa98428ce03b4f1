"""Which Compose project a command is about: the one that `docker compose` itself would take."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "COMPOSE_PROJECT_NAME"
WRITTEN = "edgefw"  # the name in a Compose file that `edgefw compose` writes


def project_of(environment: Mapping[str, str]) -> str:
    """Return the project that an environment names, else the one that the Compose file does.

    >>> project_of({"COMPOSE_PROJECT_NAME": "mine"}), project_of({})
    ('mine', 'edgefw')
    """
    return environment.get(VARIABLE) or WRITTEN
