"""A delay plan in a file, as `edgefw delay plan` reads and writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from edgefw.errors import InputError
from edgefw.scenario.trace import resolve_trace

_WHAT = "a delay plan is a list of faults, {faults: [...]}, or a scenario with delays or events"


def read_plan(path: str) -> dict[str, Any]:
    """Return the plan in a file, as PUT /plan takes it; trace files are read, from the file's folder on."""
    document = _load(path)
    faults = _faults(document, path)
    plan: dict[str, Any] = {
        "faults": [
            _written(fault, f"{path}: faults.{position}", Path(path).parent)
            for position, fault in enumerate(faults)
        ]
    }
    if isinstance(document, dict) and "disabled" in document:
        plan["disabled"] = document["disabled"]
    return plan


def write_plan(plan: dict[str, Any]) -> str:
    """Return a plan as YAML, without its version: it may be put back at any time."""
    kept = {name: plan[name] for name in ("faults", "disabled")}
    text: str = yaml.safe_dump(kept, sort_keys=False)
    return text.removesuffix("\n")


def _load(path: str) -> Any:
    try:
        return yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"there is no file {path}: {_WHAT}") from None
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not text: {_WHAT}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None


def _faults(document: Any, path: str) -> list[Any]:
    if isinstance(document, list):
        return document
    if not isinstance(document, dict):
        raise InputError(f"{path}: {_WHAT}")
    if "faults" in document:
        return _fault_list(document, "faults", path)
    if "delays" in document or "events" in document:
        return [
            _named(fault, f"{where}-{position}")
            for where in ("delays", "events")
            for position, fault in enumerate(_fault_list(document, where, path))
        ]
    raise InputError(f"{path}: {_WHAT}")


def _fault_list(document: dict[str, Any], where: str, path: str) -> list[Any]:
    faults = document.get(where)
    if faults is not None and not isinstance(faults, list):
        raise InputError(f"{path}: {where} must be a list of faults")
    return faults or []


def _named(fault: Any, name: str) -> Any:
    """Return a scenario's fault with the name that the broker gives it."""
    return {**fault, "name": fault.get("name") or name} if isinstance(fault, dict) else fault


def _written(fault: Any, place: str, folder: Path) -> Any:
    """Return a fault without what is null, its trace file read; what is wrong is left to the endpoint."""
    if not isinstance(fault, dict):
        return fault
    try:
        return resolve_trace({name: value for name, value in fault.items() if value is not None}, folder)
    except InputError as error:
        raise error.within(place) from None
