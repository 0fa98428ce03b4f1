"""A service that a supervisor started does not outlive it, however the supervisor ends.

The supervisor holds the only writing end of a pipe whose reading end is the standard input of its children.
Nothing is ever written: the pipe closes when the supervisor is gone, be it by SIGKILL.
"""

from __future__ import annotations

import os
import signal
import threading
import time

SUPERVISED = "EDGEFW_SUPERVISED"  # set in the environment of processes whose standard input is that pipe
PATIENCE = 10.0  # seconds for a clean end


def end_with_parent() -> None:
    """Watch the pipe in a thread of its own; does nothing in a process that no supervisor started."""
    if os.environ.get(SUPERVISED) == "1":
        threading.Thread(target=_watch, name="guard", daemon=True).start()


def _watch() -> None:
    """Wait for the pipe to close; then ask this process to stop, and end what it started if it does not."""
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE)
    os.killpg(0, signal.SIGKILL)  # a supervisor gives every service a process group of its own
