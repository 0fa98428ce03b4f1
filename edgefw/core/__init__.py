"""The algorithms, in numpy alone: no clock, no sockets, no logging."""
