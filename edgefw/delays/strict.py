"""The base of everything that a user writes: frozen, and strict about what it takes."""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


class Strict(BaseModel):
    """A part of a document: unknown keys, values of another type and infinities are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def check_name(name: str, what: str) -> str:
    """Refuse what cannot name a `what`."""
    if not re.fullmatch(NAME, name):
        raise ValueError(
            f"{name!r} cannot name a {what}: use up to 64 letters, digits, '.', '_' and '-', "
            "the first a letter or a digit"
        )
    return name
