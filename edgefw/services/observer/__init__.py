"""The process that scores and records; and the replay of what it recorded."""
