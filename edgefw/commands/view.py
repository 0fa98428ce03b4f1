"""`edgefw view`: look at a run in a browser, with a slider for the time."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgefw import terminal
from edgefw.commands.options import port
from edgefw.errors import InputError
from edgefw.http.guard import Guard
from edgefw.http.server import HttpServer
from edgefw.page.about import about
from edgefw.page.app import PageApp
from edgefw.page.folder import read_scenario, read_story
from edgefw.page.prepare import MISSING, installed, prepared
from edgefw.page.telling import Teller
from edgefw.records import RunFolder
from edgefw.reports.prompt import prompt_losses

if TYPE_CHECKING:
    import argparse

HOST = "127.0.0.1"
NO_REGRET = "the record has no best fixed point: see summary.json"


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = "example: edgefw view runs/default-20260101-120000"
    parser.add_argument("run", metavar="RUN", help="a run folder; one that was cut short will do")
    parser.add_argument("--port", type=port, default=0, metavar="PORT", help="of the page (any free one)")
    parser.set_defaults(call=lambda arguments: run(arguments.run, port=arguments.port))


def run(run_folder: str, *, port: int = 0) -> None:
    """Serve the page of a run folder until interrupted; print its address."""
    if not installed():
        raise InputError(f"the page cannot be shown: {MISSING}")
    asyncio.run(_serve(make_app(RunFolder(Path(run_folder))), port))


def make_app(folder: RunFolder) -> PageApp:
    """Return the page of a run folder; the same run without delays is simulated for it."""
    with terminal.status("reading the run"):
        scenario = read_scenario(folder)
        story = read_story(folder, scenario)
        drawn = prepared(scenario, story.clock)

    async def prepare() -> bytes:
        return json.dumps(drawn).encode()

    status = {"phase": "over", "gap": _gap(folder), "regret": None if story.compared else NO_REGRET}
    try:
        if story.rounds:
            story.take_prompt(prompt_losses(folder, scenario, story.rounds))
    except InputError as error:
        status["cost"] = str(error)
    teller = Teller(lambda: story, "finished", drawn["network"]["groups"], lambda: status)
    return PageApp(partial(about, scenario, live=False, simulated=not story.accounted), teller, prepare)


def _gap(folder: RunFolder) -> float | None:
    text = folder.summary_text()
    summary: dict[str, Any] = {} if text is None else json.loads(text)
    gap = summary.get("comparator_gap")
    return gap if isinstance(gap, float) else None


async def _serve(app: PageApp, port: int) -> None:
    server = HttpServer(Guard(app, names=frozenset()), HOST, port, ending=app.close)
    await server.start()
    terminal.out.print(f"http://{HOST}:{server.port}/  (Ctrl-C ends it)", soft_wrap=True)
    try:
        await asyncio.Event().wait()
    finally:
        await server.stop()
