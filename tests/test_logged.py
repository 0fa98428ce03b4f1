from __future__ import annotations

from logged import mistakes

CANCELLED = """\
Traceback (most recent call last):
  File "server.pyx.pxi", line 812, in grpc._cython.cygrpc._schedule_rpc_coro
asyncio.exceptions.CancelledError
"""
TOLD = f"""\
00:32:05.885 agent-1 INFO played all 10 rounds
00:32:05.912 agent-1 ERROR Exception not handled by _handle_exceptions in servicer method [/Exchange]
{CANCELLED}{CANCELLED}00:32:05.920 agent-1 INFO stopping: SIGTERM
"""
OURS = 'Traceback (most recent call last):\n  File "x.py", line 1, in f\nValueError: 1\n'


def test_calls_that_grpc_cancelled_are_no_mistake_and_all_else_is() -> None:
    assert mistakes(TOLD) == []
    assert mistakes(TOLD + OURS) == OURS.splitlines()
    assert mistakes(OURS + TOLD)[:3] == OURS.splitlines()
    assert mistakes(TOLD.replace("CancelledError", "InvalidStateError"))
