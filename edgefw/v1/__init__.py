"""Generated from protos/edgefw/v1 by `make generate`; never edited."""
