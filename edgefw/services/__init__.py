"""The services of an emulated network, each a process of its own: agent, broker, observer."""
