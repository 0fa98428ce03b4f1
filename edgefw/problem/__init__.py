"""What nature chooses: data, streams, losses, feasible sets, graphs and delays."""
