"""The command line: `make universes N=1000`, `make universe SEED=7 EVENTS=2,5`, `make planted`."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

from universes.draw import PARTS
from universes.finding import table
from universes.running import run_seed
from universes.shrink import shrink

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from universes.running import Outcome

_SAID_EVERY = 5.0  # seconds
_PIECE = 8  # universes that a process takes at a time


def main(words: Sequence[str] | None = None) -> int:
    """Run what is asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="universes", description=__doc__)
    commands = parser.add_subparsers(required=True)
    many = commands.add_parser("many", help="run the universes of many seeds, on all cores")
    many.add_argument("count", type=int)
    many.add_argument("seed", type=int, nargs="?", help="the first; drawn if left out")
    many.set_defaults(call=lambda asked: run_many(asked.count, asked.seed))
    one = commands.add_parser("one", help="run the universe of a seed, and say what happens in it")
    one.add_argument("seed", type=int)
    one.add_argument("--events", type=_numbers, help="only these of its events, such as 2,5")
    one.add_argument("--without", type=_parts, default=(), help=f"leave out some of {', '.join(PARTS)}")
    one.set_defaults(call=lambda asked: replay(asked.seed, asked.events, asked.without))
    planted = commands.add_parser("planted", help="look for every planted bug, and print how it was found")
    planted.set_defaults(call=lambda _: table(_say))
    asked = parser.parse_args(words)
    return int(asked.call(asked))


def run_many(count: int, first: int | None) -> int:
    """Run universes until all are done; a failure is shrunk and says how to replay it."""
    first = secrets.randbelow(10**9) if first is None else first
    workers = len(os.sched_getaffinity(0))
    _say(f"{count} universes from seed {first}, on {workers} cores")
    failed, excused, begin, shown = 0, 0, time.monotonic(), 0.0
    with ProcessPoolExecutor(workers) as pool:
        for done, outcome in enumerate(pool.map(_run, range(first, first + count), chunksize=_PIECE), 1):
            excused += bool(outcome.excused)
            if outcome.failed:
                failed += 1
                _say(told(pool.submit(shrink, outcome).result()))
            if time.monotonic() - shown > _SAID_EVERY or done == count:
                shown = time.monotonic()
                _say(f"{done} of {count}, {failed} failed, {shown - begin:.0f} s")
    if excused:
        _say(f"{excused} records could not be judged: see docs/universes.md")
    return 1 if failed else 0


def replay(seed: int, events: Sequence[int] | None, without: Sequence[str]) -> int:
    """Run one universe and print all that is said in it."""
    outcome = run_seed(seed, events, without, logs=True)
    _say("\n".join(_described(outcome)))
    _say("\n".join(outcome.said))
    _say("\n".join(f"WRONG: {each}" for each in outcome.violations) or "nothing is wrong")
    return 1 if outcome.failed else 0


def told(outcome: Outcome) -> str:
    """Return what to say of a failure: how to replay it, what happens in it, and what is wrong."""
    universe = outcome.universe
    words = [f"make universe SEED={universe.seed}"]
    words.append(f"EVENTS={','.join(str(event.number) for event in universe.events)}")
    words += [f"WITHOUT={','.join(sorted(universe.without))}"] if universe.without else []
    wrong = [f"  WRONG: {each}" for each in outcome.violations[:3]]
    return "\n".join([" ".join(words), *(f"  {line}" for line in _described(outcome)), *wrong])


def _described(outcome: Outcome) -> Iterator[str]:
    universe = outcome.universe
    document = universe.document
    yield (
        f"{universe.agents} agents ({document['network']['topology']}), {universe.clock} clock, pace "
        f"{document['pace']}, {document['algorithm']['horizon']} rounds, latency {universe.latency}, commits "
        f"{universe.commits}, limits {document.get('limits', 'none')}"
    )
    yield f"delays: {document['delays'] or 'none'}"
    yield from (f"event {event}" for event in universe.events)


def _run(seed: int) -> Outcome:
    return run_seed(seed)


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",") if each]


def _parts(text: str) -> list[str]:
    parts = [each for each in text.split(",") if each]
    if wrong := set(parts) - set(PARTS):
        raise argparse.ArgumentTypeError(f"no part of a universe: {', '.join(sorted(wrong))}")
    return parts


def _say(text: str) -> int:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
