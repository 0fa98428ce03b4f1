"""What can go wrong in a way the user can mend: one line that says what to do next, and an exit code."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

T = TypeVar("T")


class EdgefwError(Exception):
    """A failure that is reported in one line, without a traceback."""

    exit_code = 1


class InputError(EdgefwError):
    """The user gave something that cannot be used: a file, a scenario, an option.

    Where it is a field of a document, `field` is its path, and the message begins with it.
    """

    exit_code = 2

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field

    def within(self, path: str) -> Self:
        """Return the same mistake in a larger document, of which this was the part at `path`.

        >>> str(InputError("jitter is 3: it must be text", "jitter").within("faults.0"))
        'faults.0.jitter is 3: it must be text'
        """
        field = f"{path}.{self.field}" if self.field else path
        return type(self)(f"{path}{'.' if self.field else ': '}{self}", field)


class DataError(InputError):
    """A data set is missing, damaged or not what it says it is."""


class RecordError(EdgefwError):
    """The record of a run says what cannot have been."""


class UnverifiedError(EdgefwError):
    """Nothing in the record of a run is wrong, but not all of it could be checked."""

    exit_code = 3


class FrameError(EdgefwError):
    """A neighbour sent something that does not belong at this point of the exchange."""


class UnknownError(EdgefwError):
    """There is no such link or fault."""


class ExistsError(EdgefwError):
    """A change of a delay plan does not go with what is there already."""


class BrokerRefusalError(EdgefwError):
    """The broker will not take or give feedback, and trying again would not help."""


class JournalError(EdgefwError):
    """The broker cannot keep on disk what it is given: it stops rather than acknowledge."""


class JournalFullError(JournalError):
    """There is no room for what was to be kept: nothing of it is, and trying again later may help."""


class JournalCorruptError(JournalError):
    """A journal is damaged; it has been set aside and is still there."""


class DiskError(EdgefwError):
    """The disk will not take what was to be written; trying again may help, when somebody has mended it."""


class RunOverError(EdgefwError):
    """The observer has gone on to another run: what this process does belongs to none."""


class WireError(EdgefwError):
    """Bytes from another process that cannot be used; `reason` is one word, for the metric."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def known(kind: str, name: str, choices: Mapping[str, T]) -> T:
    """Return the one of `choices` that is called `name`; raise an error that names the nearest if none is.

    >>> known("loss", "squared", {"squared": 2})
    2
    """
    if name not in choices:
        raise unknown(kind, name, choices)
    return choices[name]


def unknown(kind: str, name: str, choices: Iterable[str]) -> InputError:
    """Return the error for a name that is not among `choices`, with the nearest one that is.

    >>> str(unknown("algorithm", "de2mwf", ["de2mfw", "dofw"]))
    "unknown algorithm 'de2mwf': did you mean 'de2mfw'? (valid: de2mfw, dofw)"
    """
    valid = list(choices)
    near = difflib.get_close_matches(name, valid, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    listing = f"(valid: {', '.join(valid)})" if hint else f"valid: {', '.join(valid)}"
    return InputError(f"unknown {kind} {name!r}: {hint}{listing}")
