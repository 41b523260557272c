"""Finds free ports outside the kernel's ephemeral range.

For servers that cannot choose a free port themselves. The kernel could assign a free ephemeral port
to a connection at any time.
"""

from __future__ import annotations

import random
import socket
from pathlib import Path

#: Start of the kernel's ephemeral range.
GIVEN = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])


def free() -> int:
    """Returns a port of this machine without a listener."""
    while True:
        port = random.randrange(min(10_000, GIVEN // 2), GIVEN)
        with socket.socket() as found:
            try:
                found.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
