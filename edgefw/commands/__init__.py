"""What the command line calls: one file a command."""
