"""Ask this container's service whether it is well: exit code 0 if /healthz answers 200, else 1.

The engine starts this every five seconds in every container, so it has to cost next to nothing: no
site-packages (`python -I -S`), no HTTP library, and the bare socket, whose module loads in no time.
"""

import _socket
import os
import sys


def main() -> int:
    """Return the exit code; say why on standard output, where `docker inspect` shows it."""
    port = int(os.environ.get("EDGEFW_METRICS_PORT", "9464"))
    connection = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    connection.settimeout(1.5)
    try:
        connection.connect(("127.0.0.1", port))
        connection.send(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
        status = connection.recv(64).split(b"\r\n")[0]
    except OSError as error:
        print(f"no answer on port {port}: {error}")  # noqa: T201
        return 1
    finally:
        connection.close()
    print(status.decode("ascii", "replace"))  # noqa: T201
    return 0 if status.split(b" ")[1:2] == [b"200"] else 1


if __name__ == "__main__":
    sys.exit(main())
