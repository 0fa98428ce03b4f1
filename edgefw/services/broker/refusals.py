"""What a change of the delay plan can be refused for; each has its HTTP status."""

from __future__ import annotations

from edgefw.errors import EdgefwError


class EditError(EdgefwError):
    """A change that cannot be made; the plan stays as it was."""

    status = 400
    field: str | None = None


class UnknownError(EditError):
    """There is no such agent or fault."""

    status = 404


class ExistsError(EditError):
    """It does not go with what is there already."""

    status = 409


class WrongError(EditError):
    """Something in a body cannot be used. `field` is its path, and the message begins with it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field

    def within(self, path: str) -> WrongError:
        """Return the same mistake in a larger body, of which this was the part at `path`.

        >>> str(WrongError("jitter", "jitter is 3: it must be text").within("faults.0"))
        'faults.0.jitter is 3: it must be text'
        """
        return WrongError(
            f"{path}.{self.field}" if self.field else path, f"{path}{'.' if self.field else ': '}{self}"
        )
