"""The emulator in one process, on virtual time: the very same services over memory, and no waiting.

`loop` has the clock, `machine` what services find around them, `together` starts them, `logs` keeps their
logs apart, and `emulation` is a run from its first round to its summary. What happens depends on the scenario
and its seed alone, so the same run gives the same bytes, times included.
"""
