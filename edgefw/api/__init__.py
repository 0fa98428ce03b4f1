"""The public Python API: what `import edgefw` offers, and the command line calls. See docs/api.md."""
