"""What edgefw costs beside what cannot be avoided: ours and a floor, measured in turn on the same machine."""
