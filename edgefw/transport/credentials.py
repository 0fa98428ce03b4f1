"""What lets a service into a run: the run's token, and a certificate that says which service it is.

The token is what all services of the run hold and nobody else does. It comes by the environment, or in a file
that the environment names: a command line can be read by everyone on the machine. It is never logged. The
certificate, its key and the authority's certificate are files in a folder, as `edgefw certs` writes them.
"""

from __future__ import annotations

import os
import re
import secrets
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from edgefw.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKEN, TOKEN_FILE = "EDGEFW_JOIN_TOKEN", "EDGEFW_JOIN_TOKEN_FILE"
ADMIN_TOKEN, ADMIN_TOKEN_FILE = "EDGEFW_ADMIN_TOKEN", "EDGEFW_ADMIN_TOKEN_FILE"
TLS = "EDGEFW_TLS"
AUTHORITY, CERTIFICATE, KEY = "ca.pem", "cert.pem", "key.pem"  # in the folder of a service
_GOOD = re.compile(r"[A-Za-z0-9._~+/=-]{16,512}")


@dataclass(frozen=True)
class Tls:
    """By what a service proves who it is, and by whose word it believes others: PEM."""

    authority: bytes
    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True)
class Credentials:
    """What a service shows to others, and asks of them; what it has not got itself it does not ask for."""

    token: str | None = field(default=None, repr=False)
    tls: Tls | None = None


NONE = Credentials()


def service_name(agent: int | None) -> str:
    """Return what a service is called in its certificate; None stands for the broker.

    >>> service_name(3), service_name(None)
    ('agent-3', 'broker')
    """
    return "broker" if agent is None else f"agent-{agent}"


def services(agents: int) -> list[str]:
    """Return what all services of a run are called, and whoever looks after them.

    >>> services(2)
    ['observer', 'broker', 'operator', 'agent-0', 'agent-1']
    """
    return [OBSERVER, service_name(None), OPERATOR, *map(service_name, range(agents))]


OBSERVER, OPERATOR = "observer", "operator"
"""The observer, and whoever looks after services: its certificate is for questions about health alone."""


def environment_of(token: str, tls: Path | None) -> dict[str, str]:
    """Return what `from_environment` reads credentials from, whatever the environment says otherwise."""
    return {TOKEN: token, TOKEN_FILE: "", TLS: "" if tls is None else str(tls)}


def from_environment(environment: Mapping[str, str], *, make: bool = False) -> Credentials:
    """Return the credentials of a process; with `make`, a file that is not there is made."""
    if make and (file := environment.get(TOKEN_FILE)):
        make_token(Path(file))
    folder = environment.get(TLS, "")
    return Credentials(secret(environment, TOKEN, TOKEN_FILE), read_tls(Path(folder)) if folder else None)


def read_tls(folder: Path) -> Tls:
    """Return what is in the folder of a service; one line where it cannot be used."""
    files = [folder / name for name in (AUTHORITY, CERTIFICATE, KEY)]
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_verify_locations(files[0])
        context.load_cert_chain(files[1], files[2], password=_no_password)
        return Tls(*(file.read_bytes() for file in files))
    except (OSError, ValueError) as error:  # of which SSLError is one
        missing = next((file for file in files if not file.is_file()), None)
        what = f"{missing} is not there" if missing else f"what is in {folder} does not go together ({error})"
        raise InputError(f"{what}: see `edgefw certs --help`, or leave {TLS} and --tls out") from None


def _no_password() -> str:
    raise ValueError("the key is encrypted")


def secret(environment: Mapping[str, str], name: str, name_of_file: str) -> str | None:
    """Return the token in a variable, or in the file that another one names; None if neither is set."""
    token, file = environment.get(name), environment.get(name_of_file)
    if token and file:
        raise InputError(f"{name} and {name_of_file} are both set: leave one of them out")
    if file:
        return _good(_read(Path(file), name_of_file), f"the content of {file} ({name_of_file})")
    return _good(token, name) if token else None


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(32)


def make_token(path: Path) -> None:
    """Write a new token to a file that only its owner can read; one that is there stays as it is."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        if path.exists():
            return
        draft.unlink(missing_ok=True)  # of one that was killed: in a container all have the same number
        with open(draft, "x", encoding="ascii", opener=_private) as file:
            file.write(f"{new_token()}\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):  # another one was quicker
            os.link(draft, path)  # whole, or not there
        draft.unlink()
    except OSError as error:
        raise InputError(f"cannot write a token to {path} ({TOKEN_FILE}): {error.strerror}") from None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _read(path: Path, name: str) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not ASCII"
        raise InputError(f"cannot read the token in {path} ({name}): {why}") from None


def _good(token: str, where: str) -> str:
    if not _GOOD.fullmatch(token):
        raise InputError(f"{where} is no token: it has to have 16 to 512 letters, digits or ._~+/=-")
    return token
