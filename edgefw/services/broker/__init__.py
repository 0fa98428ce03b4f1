"""The process that holds feedback back."""
