"""One HTTP stack for every service: it takes connections, bounds them, guards them, hands requests to an app.

Metrics, health and targets are small routes without a framework (`endpoint`): an agent loads what it needs
and no more. Whoever has more to say, such as the broker's admin endpoint, hands a Starlette app to the same
server behind the same guard.
"""
