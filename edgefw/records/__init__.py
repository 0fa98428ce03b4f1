"""The one row schema of a run, simulated or emulated: the run folder, its database and its summary."""

from edgefw.records.content import content_hash, play_bytes
from edgefw.records.database import RunDatabase
from edgefw.records.environment import environment
from edgefw.records.folder import DATABASE, LOGS, SCENARIO, SUMMARY, RunFolder, seeds_in, unused
from edgefw.records.rows import PlayRow
from edgefw.records.schema import SCHEMA, SCHEMA_VERSION, WHOLE_EVERY
from edgefw.records.summary import LATER, AgentSummary, Summary, score

__all__ = [
    "DATABASE",
    "LATER",
    "LOGS",
    "SCENARIO",
    "SCHEMA",
    "SCHEMA_VERSION",
    "SUMMARY",
    "WHOLE_EVERY",
    "AgentSummary",
    "PlayRow",
    "RunDatabase",
    "RunFolder",
    "Summary",
    "content_hash",
    "environment",
    "play_bytes",
    "score",
    "seeds_in",
    "unused",
]
