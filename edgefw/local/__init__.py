"""All processes of a run on this machine: prepared, started, watched, shown, stopped."""
