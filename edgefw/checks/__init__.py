"""What every algorithm, loss, feasible set, fault type and data set has to pass: ours, and those of others.

The first line of a check is what is shown of it.
"""
