"""What a browser shows of a run: its story as arrays, the figures, the network as a drawing, the page itself.

The page of a run under way and that of a finished one are the same; only where the story comes from differs.
"""
