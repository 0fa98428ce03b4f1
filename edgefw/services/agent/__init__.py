"""The process of one agent."""
