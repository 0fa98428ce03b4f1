"""Docker's engine: the containers of a run, found by the labels that Compose gives them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from docker.client import from_env
from docker.errors import APIError, ContainerError, DockerException, NotFound
from requests.exceptions import RequestException

from edgefw.errors import EdgefwError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT, SERVICE = "com.docker.compose.project", "com.docker.compose.service"
SECONDS = 20  # for a call to the engine


class EngineError(EdgefwError):
    """The engine, or what runs on it, is not as it should be."""


@dataclass(frozen=True)
class Member:
    """A container of a run, by its service's name in the Compose file."""

    name: str
    state: str  # running, paused, exited, ...
    health: str | None
    container: Any

    @property
    def running(self) -> bool:
        """Whether its process runs (a paused one does not)."""
        return self.state == "running"

    @property
    def has_network(self) -> bool:
        """Whether it can be connected to anything: a paused one can."""
        return self.state in {"running", "paused"}


class Containers:
    """The containers of one Compose project; a context, which ends the connection to the engine."""

    def __init__(self, project: str) -> None:
        self.project = project
        try:
            self._engine = from_env(timeout=SECONDS)
            self._engine.ping()
        except (DockerException, RequestException, ValueError) as error:  # ValueError: not an address
            raise EngineError(
                f"cannot reach the Docker engine ({_reason(error)}): is it running, and may you use it? "
                "`docker info` tells; DOCKER_HOST says where it is"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.close()

    @property
    def is_here(self) -> bool:
        """Whether the engine is on this machine, as far as one can tell."""
        return str(self._engine.api.base_url).startswith("http+docker://")

    def versions(self) -> tuple[str, str]:
        """Return the engine's version, and that of its API."""
        with doing("ask the engine for its version"):
            found = self._engine.version()
        return str(found["Version"]), str(found["ApiVersion"])

    def has_image(self, name: str) -> bool:
        """Whether an image is there."""
        with doing(f"look for image {name}"):
            try:
                self._engine.images.get(name)
            except NotFound:
                return False
            return True

    def can_pull(self, name: str) -> bool:
        """Whether a registry has an image, and answers."""
        try:
            self._engine.images.get_registry_data(name)
        except (APIError, RequestException):
            return False
        return True

    def publisher(self, port: int) -> Member | None:
        """Return the container that a port of the host belongs to, of whatever project."""
        with doing("list the containers"):
            found = self._engine.containers.list(filters={"publish": str(port)})
        return _member(found[0]) if found else None

    def owns(self, member: Member) -> bool:
        """Whether a container is one of this project."""
        return bool(member.container.labels.get(PROJECT) == self.project)

    def members(self) -> list[Member]:
        """Return all containers, agents by number after the others."""
        label = f"{PROJECT}={self.project}"
        with doing("list the containers"):
            found = self._engine.containers.list(all=True, filters={"label": label})
        if not found:
            raise EngineError(
                f"there are no containers of {self.project!r}: docker compose up starts some; "
                "--project names another"
            )
        return sorted(map(_member, found), key=_order)

    def member(self, name: str) -> Member:
        """Return a container by its service's name; an agent also by its number."""
        wanted = f"agent-{name}" if name.isdecimal() else name
        members = {member.name: member for member in self.members()}
        if wanted not in members:
            raise InputError(f"there is no {wanted!r} in {self.project!r}: there are {', '.join(members)}")
        return members[wanted]

    def in_network_of(self, member: Member, program: str, *words: str) -> str:
        """Run a Python program in a container's network, with the right to change it; return what it prints.

        It runs in a container of its own, from the observer's image: those of a run may change nothing.
        """
        printed: bytes = self._engine.containers.run(
            self.member("observer").container.attrs["Image"],
            ["-I", "-S", "-c", program, *words],
            entrypoint="python",
            user="0",
            network_mode=f"container:{member.container.id}",
            cap_drop=["ALL"],
            cap_add=["NET_ADMIN"],
            security_opt=["no-new-privileges:true"],
            read_only=True,
            remove=True,
        )
        return printed.decode().strip()


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Turn what the engine refuses in this block, and its silence, into one line."""
    try:
        yield
    except APIError as error:
        raise EngineError(f"cannot {what}: {error.explanation or error}") from None
    except ContainerError as error:
        raise EngineError(f"cannot {what}: {_last_line(error)}") from None
    except RequestException as error:
        raise EngineError(f"cannot {what}: the engine does not answer ({_reason(error)})") from None


def _last_line(error: ContainerError) -> str:
    """Return the last that a program said before it failed: of a Python one, what was raised."""
    said: Any = error.stderr  # bytes, whatever its type says
    return str((said or str(error).encode()).decode(errors="replace").strip().splitlines()[-1])


def _reason(error: BaseException) -> str:
    """Return why a call failed: the system's own word where there is one, below layers of libraries."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, OSError) and inner.strerror:
            return inner.strerror
        inner = inner.__cause__ or inner.__context__
    return str(error).rsplit(": ", 1)[-1]


def _member(container: Any) -> Member:
    state = container.attrs["State"]
    health = state.get("Health", {}).get("Status")
    return Member(container.labels.get(SERVICE, container.name), state["Status"], health, container)


def _order(member: Member) -> tuple[bool, int, str]:
    kind, _, number = member.name.rpartition("-")
    agent = kind == "agent" and number.isdecimal()
    return agent, int(number) if agent else 0, member.name
