"""What a change of a delay plan can be refused for, beside a body that is wrong (an `InputError`)."""

from __future__ import annotations

from edgefw.errors import EdgefwError


class UnknownError(EdgefwError):
    """There is no such link or fault."""


class ExistsError(EdgefwError):
    """It does not go with what is there already."""
