"""What runs come to: the report of a run, the comparison of several, the paper reproduced."""
