"""Small worlds in which all that can go wrong does: the real services, on our own clock, network and disk.

A universe is a function of its seed. `draw` makes of it a scenario, the conditions of its network, its disk
and its scheduler, and a list of events. `world` runs the services through them, `checks` says what must never
be, `shrink` finds the few events that a failure needs, and `planted` has bugs for the harness to find.

    life      one life of a service: what of it runs, stands still or is gone
    loop      virtual time, and which of several ready tasks goes first
    network   messages that take their time; links that are cut; who was connected to whom
    disk      commits that take their time; a disk that is full
    crash     what a crash leaves of what is being written
    machine   the clocks and workers that services find around them
    wire      what went over the wire, as somebody sees it who knows nothing of the services
    admin     plan changes through the broker's own HTTP handlers
    events    what happens to a world, and when
"""
