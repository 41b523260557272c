"""Ports for what cannot be told to take a free one and say which. None of those that the kernel gives to connections: of these one
that is free now is somebody's in a moment."""

from __future__ import annotations

import random
import socket
from pathlib import Path

#: From here on the kernel gives them away.
GIVEN = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])


def free() -> int:
    """A port on this machine that nobody listens at."""
    while True:
        port = random.randrange(min(10_000, GIVEN // 2), GIVEN)
        with socket.socket() as found:
            try:
                found.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
