def table() -> str:
    return ""
