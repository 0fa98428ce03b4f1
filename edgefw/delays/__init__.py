"""The delay engine, pure: what may happen to messages on their way, by which plan, how long they are held.

- A fault type is one file (`latency`, `rounds`, `blackout`, `ramp`, `drop`, `adversary`, ...) and one line in
  `registry`; `fault` is their base, and says what a type can do.
- `plan` puts named faults (`entry`) on links (`link_id`); `edits` change a plan, `body` reads and writes
  faults as the admin endpoint does.
- `dues` and `arrivals` say when messages are due, by the clock and in rounds; `hold` keeps them until then.

Whoever uses it says what the time is.
"""
