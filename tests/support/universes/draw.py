"""From a seed to a universe: a small scenario, the conditions it runs under, and what happens to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any

from universes.crash import TAILS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

KILLABLE = ("broker", "observer")
"""Who goes on after a kill as if nothing had been: what services promise, they are held to here."""

PARTS = ("order", "latency", "commits", "delays", "limits")
"""What can be taken out of a universe, beside its events, to find a simpler one that fails as well."""

_MOST_EVENTS = 8
_CRASHES = 101  # the number of the first: those of other kinds have smaller ones


@dataclass(frozen=True)
class Event:
    """Something that happens once the broker has read `after` submissions, `wait` seconds and `steps` later.

    Steps are the broker's, or those of whoever is killed: so an event falls between any two of its awaits.
    """

    number: int
    kind: str
    after: int
    wait: float
    steps: int
    what: dict[str, Any]

    def __str__(self) -> str:
        what = ", ".join(f"{name} {value}" for name, value in self.what.items())
        when = f"after {self.after} submissions, {self.wait:g} s and {self.steps} steps"
        return f"{self.number}: {self.kind} ({what}) {when}"


@dataclass(frozen=True)
class Universe:
    """All that a run depends on. `without` are the parts that were taken out."""

    seed: int
    document: dict[str, Any]
    latency: str
    commits: str
    reopened: bool  # whether the broker is stopped and started once more before all is counted
    events: tuple[Event, ...]
    without: frozenset[str] = frozenset()

    @property
    def clock(self) -> str:
        return str(self.document["clock"])

    @property
    def agents(self) -> int:
        return int(self.document["network"]["agents"])

    def chance(self, purpose: str) -> Random:
        """Return the numbers that are drawn while it runs, apart for each purpose."""
        return Random(f"{self.seed}/{purpose}")

    def only(self, numbers: Collection[int]) -> Universe:
        """Return the same universe with fewer events."""
        return replace(self, events=tuple(event for event in self.events if event.number in numbers))

    def less(self, without: Collection[str]) -> Universe:
        """Return the same universe without some of its parts."""
        document = {**self.document}
        if "delays" in without:
            document["delays"] = []
        if "limits" in without:
            document.pop("limits", None)
        return replace(self, document=document, without=frozenset(without))

    def latencies(self) -> Callable[[], float]:
        """Return what draws the seconds that a message takes."""
        chance, kind = self.chance("latency"), "none" if "latency" in self.without else self.latency
        if kind == "none":
            return lambda: 0.0
        if kind == "short":
            return lambda: chance.randrange(5_000) / 1e6
        return lambda: chance.choice((0, 0, 1, 7, 40, 300)) / 1e3

    def pauses(self) -> Callable[[], tuple[float, float]]:
        """Return what draws the seconds that a commit waits, and those until that is known."""
        chance, kind = self.chance("commits"), "prompt" if "commits" in self.without else self.commits
        if kind == "prompt":
            return lambda: (0.0, 0.0)
        if kind == "slow":
            return lambda: (chance.choice((0, 1, 5, 20)) / 1e3, chance.choice((0, 0, 1, 10)) / 1e3)
        return lambda: (chance.choice((0, 2, 30, 700, 11_000)) / 1e3, chance.choice((0, 0, 50, 400)) / 1e3)

    def record_pauses(self) -> Callable[[], tuple[float, float]] | None:
        """Return what draws the seconds that the record waits, and those until that is known.

        None where nobody is killed meanwhile.
        """
        if not any(event.what.get("who") == "observer" for event in self.events if event.kind == "kill"):
            return None
        chance = self.chance("record")
        return lambda: (chance.choice((0, 1, 5, 50)) / 1e3, chance.choice((0, 0, 1, 30)) / 1e3)

    def memory_pauses(self) -> Callable[[], tuple[float, float]] | None:
        """Return what draws the seconds that an agent's write waits, and those until that is known.

        None where no agent is killed, and none writes anything.
        """
        if not any(event.kind == "crash" for event in self.events):
            return None
        chance = self.chance("memory")
        return lambda: (chance.choice((0, 0, 1, 5, 50)) / 1e3, chance.choice((0, 0, 1, 30)) / 1e3)

    def order(self) -> Random | None:
        """Return what decides which of several ready tasks goes first; None: asyncio's order."""
        return None if "order" in self.without else self.chance("order")


def universe(seed: int) -> Universe:
    """Return the universe of a seed."""
    chance = Random(seed)
    clock = chance.choice(("wall", "rounds"))
    agents, rounds = chance.randint(2, 4), chance.randint(3, 7)
    delays = [_fault(chance, clock, agents, rounds) for _ in range(chance.choice((0, 1, 1, 2, 3)))]
    document: dict[str, Any] = {
        "name": "universe",
        "seed": seed % 2**31,
        "clock": clock,
        "pace": chance.choice(("50ms", "200ms")) if clock == "wall" else "asap",
        "network": {"agents": agents, "topology": chance.choice(("cycle", "complete", "line", "star"))},
        "data": {"source": "synthetic", "samples": 8 * agents, "features": 2, "classes": 2},
        "problem": {"batch": 1},
        "algorithm": {"horizon": rounds, "sub_iterations": chance.randint(1, 2)},
        "delays": delays,
    }
    events = _events(chance, clock, agents, rounds)
    short = all(map(_is_short, (*delays, *_posted(events))))
    crashes = tuple(_crashes(seed, document)) if short else ()
    if clock == "wall" and chance.random() < 0.3 and short:
        document["limits"] = {"link": chance.randint(2, 4), "all": chance.randint(4, 8)}
    return Universe(
        seed,
        document,
        latency=chance.choice(("none", "short", "short", "long")),
        commits=chance.choice(("prompt", "slow", "slow", "stuck")),
        reopened=chance.random() < 0.25,
        events=(*events, *_observer_kills(seed, agents * rounds, len(events)), *crashes),
    )


def _observer_kills(seed: int, submissions: int, before: int) -> Iterator[Event]:
    """Yield what happens to the observer. It is drawn apart: so seeds stay what they were before it."""
    chance = Random(f"{seed}/observer")
    for number in range(chance.choice((0, 0, 1, 2))):
        after, wait = chance.randrange(submissions + 1), chance.choice((0, 0, 0.003, 0.05, 0.4))
        what = {**_kill(chance, "observer"), "reboot": False, "tail": "none"}
        yield Event(before + number + 1, "kill", after, wait, chance.randrange(60), what)


def _crashes(seed: int, document: dict[str, Any]) -> Iterator[Event]:
    """Yield what happens to agents, alone or together, and with others. It is drawn apart, likewise."""
    chance = Random(f"{seed}/agents")
    agents = int(document["network"]["agents"])
    submissions = agents * int(document["algorithm"]["horizon"])
    count = chance.choice((0, 0, 0, 1, 1, 4))
    if count:
        document["checkpoints"] = {"every": chance.choice((1, 1, 2, 3, 5))}
    for number in range(count):
        who = _together(chance, agents)
        what = {
            "who": who,
            "tail": chance.choice(TAILS),
            "lost": chance.random() < 0.5,
            "down": tuple(chance.choice((0.001, 0.02, 0.3, 2)) for _ in who),
        }
        after, wait = chance.randrange(submissions + 1), chance.choice((0, 0, 0.003, 0.05, 0.4))
        yield Event(_CRASHES + number, "crash", after, wait, chance.randrange(200), what)


def _together(chance: Random, agents: int) -> tuple[str, ...]:
    """Return who dies at the same moment: an agent first."""
    names = [f"agent-{i}" for i in range(agents)]
    chance.shuffle(names)
    kind = chance.choice(("one", "some", "all", "everything", "broker", "observer"))
    few = names[: {"one": 1, "some": chance.randint(1, agents)}.get(kind, agents)]
    others = {"everything": KILLABLE, "broker": KILLABLE[:1], "observer": KILLABLE[1:]}
    return (*few, *others.get(kind, ()))


def _events(chance: Random, clock: str, agents: int, rounds: int) -> tuple[Event, ...]:
    count = chance.randint(0, _MOST_EVENTS)
    drawn = sorted(
        (_event(chance, clock, agents, rounds) for _ in range(count)), key=lambda event: event.after
    )
    stepped = any(event.kind == "clock" for event in drawn)
    return tuple(_settled(event, number, stepped=stepped) for number, event in enumerate(drawn, 1))


def _settled(event: Event, number: int, *, stepped: bool) -> Event:
    """Return an event with its number; where the clock was set, another boot would move what is due."""
    what = {**event.what, "reboot": False} if stepped and event.kind == "kill" else event.what
    return replace(event, number=number, what=what)


def _event(chance: Random, clock: str, agents: int, rounds: int) -> Event:
    makers: dict[str, tuple[int, Callable[[Random], dict[str, Any]]]] = {
        "kill": (6, _kill),
        "plan": (6, lambda c: _plan(c, clock, agents, rounds)),
        "cut": (3, lambda c: _cut(c, agents)),
        "pause": (2, lambda c: {"who": c.choice(_names(agents)), "seconds": c.choice((0.02, 0.3, 2, 7))}),
        "full": (2, lambda c: {"seconds": c.choice((0.01, 0.3, 2))}),
        "clock": (1, lambda c: {"seconds": c.choice((-3600, -1, 1, 3600))}),
        "stranger": (2, lambda c: {"who": c.choice(_strangers(clock)), "agent": c.randrange(agents)}),
    }
    kind = chance.choices(list(makers), [weight for weight, _ in makers.values()])[0]
    what = makers[kind][1](chance)
    after = chance.randrange(agents * rounds + 1)
    wait = chance.choice((0, 0, 0, 0.003, 0.05, 0.4))
    return Event(0, kind, after, wait, chance.randrange(60) if kind == "kill" else 0, what)


def _kill(chance: Random, who: str = "broker") -> dict[str, Any]:
    return {
        "who": chance.choice((who,)),  # so that seeds stay what they were when it was drawn here
        "tail": chance.choice(TAILS),
        "lost": chance.random() < 0.5,
        "down": chance.choice((0.001, 0.02, 0.3, 2)),  # none is back at the very same moment
        "reboot": chance.random() < 0.2,
    }


def _plan(chance: Random, clock: str, agents: int, rounds: int) -> dict[str, Any]:
    where = chance.choice(("/faults", *(f"/links/{agent}/faults" for agent in range(agents))))
    fault = _fault(chance, clock, agents, rounds, posted=True)
    kind = chance.choices(("add", "replace", "remove", "reset", "disable"), (6, 2, 2, 1, 2))[0]
    if kind == "add":
        return {"verb": "POST", "path": where, "body": fault}
    if kind == "replace":
        return {"verb": "PUT", "path": "/plan", "body": {"faults": [fault]}}
    if kind == "remove":
        return {"verb": "DELETE", "path": f"{where}/{chance.choice(('delays-0', 'delays-1'))}", "body": None}
    if kind == "reset":
        return {"verb": "POST", "path": "/reset", "body": None}
    path, seconds = f"/links/{chance.randrange(agents)}", chance.choice((0.05, 0.5, 2))
    return {"verb": "PATCH", "path": path, "body": {"enabled": False}, "seconds": seconds}


def _cut(chance: Random, agents: int) -> dict[str, Any]:
    one, other = chance.sample(_names(agents), 2)
    seconds = chance.choice((0.01, 0.2, 1, 6))
    return {"between": (one, other), "silently": chance.random() < 0.5, "seconds": seconds}


def _names(agents: int) -> list[str]:
    return ["broker", "observer", *(f"agent-{i}" for i in range(agents))]


def _strangers(clock: str) -> Sequence[str]:
    common = ("half a request", "listener", "silent submitter")
    return (*common, "impostor", "impostor") if clock == "wall" else common


def _posted(events: Sequence[Event]) -> list[dict[str, Any]]:
    bodies = [event.what["body"] for event in events if event.kind == "plan" and event.what["body"]]
    return [fault for body in bodies for fault in body.get("faults", [body]) if "type" in fault]


def _is_short(fault: dict[str, Any]) -> bool:
    """Whether a fault lets everything go after a while, whatever else happens: else a full link stays so."""
    return fault.get("strategy") != "until_end"


def drops(universe: Universe) -> bool:
    """Whether something in a universe takes feedback for good."""
    faults = [*universe.document["delays"], *_posted(universe.events)]
    return any(fault["type"] == "drop" or fault.get("strategy") == "starve" for fault in faults)


def _fault(chance: Random, clock: str, agents: int, rounds: int, *, posted: bool = False) -> dict[str, Any]:
    fault = _typed(chance, clock, rounds)
    if not posted and chance.random() < 0.5:
        fault["agents"] = sorted(chance.sample(range(agents), chance.randint(1, agents)))
    if fault["type"] != "blackout" and chance.random() < 0.3:
        fault["duration"] = (
            chance.choice(("100ms", "600ms")) if clock == "wall" else chance.randint(1, rounds)
        )
    if fault["type"] != "blackout" and chance.random() < 0.25:
        fault["apply_to"] = "pending"
    return fault


def _typed(chance: Random, clock: str, rounds: int) -> dict[str, Any]:
    wall = clock == "wall"

    def some(longest: int = 4) -> Any:
        """Draw an amount of the clock's unit."""
        return f"{chance.choice((1, 30, 130, 250, 700))}ms" if wall else chance.randint(1, longest)

    late = "latency" if wall else "rounds"
    at = f"{chance.choice((0, 100, 400))}ms" if wall else chance.randrange(rounds)
    makers: dict[str, Callable[[], dict[str, Any]]] = {
        "plain": lambda: {"type": late, late: some()},
        "jitter": lambda: {"type": late, late: some(), "jitter": some(2)},
        "trace": lambda: {"type": late, "trace": [some() for _ in range(chance.randint(1, 3))]},
        "blackout": lambda: {"type": "blackout", "at": at, "duration": some()},
        "ramp": lambda: {"type": "ramp", **{name: some() for name in ("start", "stop", "step", "interval")}},
        "drop": lambda: {"type": "drop", "probability": chance.choice((0.2, 0.5, 1.0))},
        "bursts": lambda: {"type": "gilbert_elliott", "good": some(1), "bad": some(), "p": 0.4, "r": 0.5},
        "adversary": lambda: _adversary(chance, clock, some(3)),
    }
    return makers[chance.choice(("plain", *makers))]()


def _adversary(chance: Random, clock: str, period: Any) -> dict[str, Any]:
    strategy = chance.choice(("burst", "newest_first", "until_end", "starve", "largest"))
    fault = {"type": "adversary", "strategy": strategy}
    if strategy == "starve":
        return {**fault, "period": "2 rounds" if clock == "wall" else 2}
    return fault if strategy == "until_end" else {**fault, "period": period}
