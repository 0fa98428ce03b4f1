"""The command line: `make universes N=1000`, `make universe SEED=7 EVENTS=2,5`, `make planted`."""

from __future__ import annotations

import argparse
import gc
import os
import secrets
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING

from universes.draw import PARTS
from universes.finding import table
from universes.running import run_seed
from universes.shrink import shrink

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from universes.running import Outcome

_SAID_EVERY = 5.0  # seconds between two words on how far it is,
_WRITTEN_EVERY = 60.0  # and where they are kept
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
    progress, failed = _Progress(count), []
    seeds = range(first, first + count)
    with _pool(workers) as pool:
        for seed, said in zip(seeds, pool.map(failure, seeds, chunksize=_PIECE), strict=True):
            if said is not None:
                failed.append(seed)
                _say(said)
            progress.done(len(failed))
    if failed:
        _say(f"failed: {' '.join(map(str, failed))}")
    return 1 if failed else 0


def _pool(workers: int) -> ProcessPoolExecutor:
    """Return processes that begin with all that is loaded and take none of it for garbage: a tenth faster."""
    return ProcessPoolExecutor(workers, get_context("fork"), initializer=gc.freeze)


def failure(seed: int) -> str | None:
    """Run a universe; return what to say where something is wrong in it, in its smallest part that fails.

    A universe that cannot be run is one that failed: those after it are run all the same.
    """
    try:
        outcome = run_seed(seed)
        return told(shrink(outcome)) if outcome.failed else None
    except Exception:  # noqa: BLE001 - whatever it is, it is told
        return f"make universe SEED={seed}\n{traceback.format_exc()}"


class _Progress:
    """Says now and then how far it is: often to a person, seldom to a file."""

    def __init__(self, count: int) -> None:
        self._count, self._so_far = count, 0
        self._pause = _SAID_EVERY if sys.stdout.isatty() else _WRITTEN_EVERY
        self._begin = self._said = time.monotonic()

    def done(self, failed: int) -> None:
        """Note that another one is done, and how many have failed so far."""
        self._so_far += 1
        now = time.monotonic()
        if now - self._said > self._pause or self._so_far == self._count:
            self._said = now
            _say(f"{self._so_far} of {self._count}, {failed} failed, {now - self._begin:.0f} s")


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
