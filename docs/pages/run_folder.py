"""The page on the run folder: made from the schema of its database and from its summary."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from edgefw.records import DATABASE, SCENARIO, SCHEMA, SCHEMA_VERSION, SUMMARY, AgentSummary, Summary

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = f"""\
# The run folder

Every run leaves a folder, `runs/<name>-<time>/` unless `--out` says otherwise. `edgefw collect` copies the
folder of a run in containers to this machine. This page is made from `edgefw/records` by `make docs`.

| file | what it is |
|---|---|
| `{SCENARIO}` | the scenario as it was run, with every default written out; `edgefw simulate FILE` reads it |
| `{DATABASE}` | a row for every round and agent, and what the broker did: see below |
| `{SUMMARY}` | the result; it is written last, so a folder without it is of a run that did not end well |
| `logs/` | not of a simulated run: a file for each service, `agent-0.log`, `broker.log`, `observer.log` |
| `report/` | what `edgefw up` or `edgefw report` has made of it: `report.html`, its figures, CSV files |
| `journal.sqlite` | while `edgefw up` runs: what the broker holds, on disk; it is removed at the end |

A run of several seeds (`edgefw simulate default --seeds 4`) has such a folder for each inside its own:
`seed-7`, `seed-8` and so on. Each is written as soon as it has ended. A run that was interrupted is taken up
again by the same command with `--out` and that folder: seeds that are there are not run again.

Read the database with any SQLite client:

```sh
sqlite3 -header runs/default-.../{DATABASE} 'SELECT agent, SUM(global_loss) FROM plays GROUP BY agent'
```

or from Python, where a time series is one query away:

```python
import sqlite3

database = sqlite3.connect("file:runs/NAME/{DATABASE}?mode=ro", uri=True)
losses = database.execute("SELECT round, MAX(global_loss) FROM plays GROUP BY round").fetchall()
total_loss = sum(loss for _, loss in losses)  # the same as in {SUMMARY}
```

Who changed the delay plan, what and when, and which ticks were missed:

```sh
sqlite3 -header runs/default-.../{DATABASE} 'SELECT round, seconds, who, what FROM changes'
sqlite3 -header runs/default-.../{DATABASE} 'SELECT round, agent, late FROM plays WHERE late IS NOT NULL'
```

`edgefw verify FOLDER` checks that the record of an emulated run can be true.
"""  # noqa: S608 - a page, no query

TABLES = f"""\
## `{DATABASE}`

The version of the tables is **{SCHEMA_VERSION}**. It stands in the file (`PRAGMA user_version`; files that
were written before it was there say 0 and have the tables of version 1). A table or a column more makes a new
version. edgefw reads older versions, and refuses newer ones. A run that an older version began is not gone on
with. The database of an emulated run is written while the run goes on, and may be read meanwhile. What the
observer has answered for is in it, and on disk: the plays that agents were told the scores of, and the
entries of the broker's account. An observer that was killed goes on from there. A damaged one it sets aside
(`{DATABASE}.corrupt-1`) with an error: that run cannot be gone on with.
"""

META = {
    "digest": "of the scenario",
    "mode": "`simulate` or `up`",
    "rate": "zeta, or the gradient step",
    "rate_reason": "where the rate comes from",
    "extensions": "which classes of other packages were used, by the field that names them, as JSON: "
    "package, version, and the SHA-256 of its Python files",
    "data": "the data set that was used, which `data.source` of `scenario.yaml` names: it can be run again",
    "data_digest": "of its content, SHA-256",
    "plan": "the faults at the start, as JSON as in `GET /plan`: with the agents that were drawn",
    "messages": "frames that each agent has sent to others so far, as JSON (not of a simulated run)",
    "wire_bytes": "bytes that each agent has written to the network for these so far, as JSON (not of a "
    "simulated run); before version 3 its name was `bytes`",
    "wall_seconds": "from the first report to the last, so far (not of a simulated run)",
    "recorded": "when that was, in nanoseconds since 1970 (likewise)",
    "ended": "how its observer ended: `complete`, `stopped` (on request), `given up` (an agent had forgotten "
    "the run); or `no`: it goes on, or was killed, and goes on when it is started again (likewise)",
    "members": "who has joined, and where they are, as JSON: an observer that is started again need not be "
    "told (likewise)",
    "numpy": "the version of numpy. It and what follows can change the last bits of a sum: where they agree, "
    "a replay is identical",
    "blas": "the library that numpy multiplies with",
    "blas_core": "which of its kernels is used",
    "simd": "which vector instructions numpy uses",
    "machine": "the kind of processor",
}

_COMMENT = re.compile(r"^ *(?P<name>\w*) *(?P<code>[^-]*)-- *(?P<text>.*)$")


class Column(NamedTuple):
    """A column of a table."""

    name: str
    kind: str
    key: bool
    needed: bool
    text: str


def page() -> str:
    """Return the page."""
    sections = [_section(name, sql) for name, sql in _tables()]
    parts = [HEAD, TABLES, *sections, _meta(), _summary()]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _tables() -> list[tuple[str, str]]:
    """Return every table and view with the statement that made it, which SQLite keeps with its comments."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA)
        return database.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()


def _section(name: str, sql: str) -> str:
    about, comments = _comments(sql)
    lines = [f"### `{name}`", "", f"{about[0].upper()}{about[1:]}.", ""]
    lines += ["| column | type | key | may be NULL | meaning |", "|---|---|---|---|---|"]
    for each in _columns(name, comments):
        key, null = "yes" if each.key else "", "" if each.needed else "yes"
        lines.append(f"| `{each.name}` | {each.kind} | {key} | {null} | {each.text} |")
    return "\n".join(lines)


def _columns(table: str, comments: dict[str, str]) -> Iterator[Column]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA)
        for _, name, kind, needed, _, key in database.execute(f"PRAGMA table_info({table})"):
            yield Column(name, kind or "REAL", bool(key), bool(needed or key), comments[name])


def _comments(sql: str) -> tuple[str, dict[str, str]]:
    """Return what is said of a table, and of each of its columns; a comment may go on in the next line."""
    first, *rest = sql.splitlines()
    texts: dict[str, str] = {}
    name = ""
    for line in rest:
        if found := _COMMENT.match(line):
            name = found["name"] or name
            texts[name] = f"{texts[name]} {found['text']}" if name in texts else found["text"]
    return first.partition("--")[2].strip(), texts


def _meta() -> str:
    rows = [f"| `{key}` | {text} |" for key, text in META.items()]
    return "\n".join(["### The keys of `meta`", "", "| key | value |", "|---|---|", *rows])


def _summary() -> str:
    lines = [f"## `{SUMMARY}`", "", "| field | type | meaning |", "|---|---|---|", *_fields(Summary)]
    lines += ["", "Each of `per_agent` has:", "", "| field | type | meaning |", "|---|---|---|"]
    lines += [*_fields(AgentSummary), "", _CARE]
    return "\n".join(lines)


def _fields(record: type[Summary | AgentSummary]) -> Iterator[str]:
    """Yield the fields of a record, with the comment that each has in its source."""
    source = inspect.getsource(record).splitlines()
    said = (re.match(r"    (\w+): .*?  # (.*)$", line) for line in source)
    comments = {found[1]: found[2] for found in said if found}
    for field in dataclasses.fields(record):
        kind = str(field.type).replace("tuple[AgentSummary, ...]", "list").replace(" | None", " or null")
        yield f"| `{field.name}` | {_KINDS.get(kind, kind)} | {comments[field.name]} |"


_KINDS = {"str": "text", "int": "whole number", "float": "number", "float or null": "number or null"} | {
    "int or null": "whole number or null",
    "bool or null": "true, false or null",
}
_CARE = """\
`total_loss` less `comparator_loss` is **not** a regret: see
[total loss and regret](theory.md#total-loss-and-regret). The regrets are `null` where no best fixed point was
asked for or found. The true regret lies between `regret` and `regret + comparator_gap`."""
