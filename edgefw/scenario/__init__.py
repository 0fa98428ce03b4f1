"""The scenario: one file as typed (`model`), read (`load`), and resolved into what a run needs (`setup`)."""
