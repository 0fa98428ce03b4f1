"""What a user may write, in words: for the pages that are made from models."""

from __future__ import annotations

from typing import Any

from edgefw.delays.strict import NAME
from edgefw.plugins import PLACE

_NAMES = {
    "object": "a mapping",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}
_LARGE = 10**9  # such a bound only keeps sums within what a number can be: nobody comes near it


def words(schema: dict[str, Any]) -> list[str]:
    """Return what a schema allows.

    >>> words({"anyOf": [{"type": "integer", "minimum": 1}, {"enum": ["a", "b"]}, {"type": "null"}]})
    ['a whole number, 1 or more', '`a`, `b`']
    """
    if kinds := schema.get("anyOf") or schema.get("oneOf"):
        return [word for kind in kinds for word in words(kind)]
    if "$ref" in schema:
        return ["`{draw: 2, replacement: true}`"]
    if choices := schema.get("enum") or [schema[key] for key in ("const",) if key in schema]:
        return [", ".join(f"`{choice}`" for choice in choices)]
    if schema["type"] == "array":
        return [f"a list ({' or '.join(_items(schema['items']))})"]
    if schema["type"] == "string":
        return [_text(schema)]
    return [] if schema["type"] == "null" else [_NAMES[schema["type"]] + _bounds(schema)]


def _items(schema: dict[str, Any]) -> list[str]:
    if "$ref" in schema:
        return ["mappings"]
    return ["pairs of agents"] if "prefixItems" in schema else words(schema)


def _text(schema: dict[str, Any]) -> str:
    if schema.get("pattern") == f"^{PLACE.pattern}$":
        return "`package.module:Class`"
    if schema.get("pattern", NAME) != NAME:
        return "a time"
    return str(schema.get("description", "a name"))


def _bounds(schema: dict[str, Any]) -> str:
    """Return what a number may be."""
    if schema["type"] in {"boolean", "object"}:
        return ""
    least, above, most = (schema.get(name) for name in ("minimum", "exclusiveMinimum", "maximum"))
    said = f", {least} or more" if above is None else f", above {above}"
    return said if most is None or most >= _LARGE else f"{said}, {most:,} at most"
