"""The experiments of the paper: their settings, their published numbers, and how ours compare."""
