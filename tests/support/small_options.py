"""Options of the command line that make a run small."""

SMALL_DATA = (
    "--set",
    "data.source=synthetic",
    "--set",
    "data.samples=400",
    "--set",
    "data.features=20",
    "--set",
    "data.classes=4",
)


def small(field: str) -> tuple[str, ...]:
    """Return the options of a run on little data with one more field, such as algorithm.stop_after=6."""
    return (*SMALL_DATA, "--set", field)
