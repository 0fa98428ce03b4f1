"""Whether the record of a run can be true: what `edgefw verify` does."""
