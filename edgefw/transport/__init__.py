"""The only gRPC code: arrays and messages on the wire, links between services, and their in-process twin."""
