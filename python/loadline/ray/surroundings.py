"""What Ray reads of the environment, once, when it is imported: to be called before. Does not import it."""

from __future__ import annotations

import os
import secrets


def prepare(address: str | None, nodes: int | None) -> str | None:
    """Sets what has to be set; the address of the cluster, from the order or from the environment."""
    address = address or os.environ.get("RAY_ADDRESS") or None
    # Nobody is told that a load test takes place.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # A warning about a default that will be another one day, of which we use neither.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if address is not None:
        # Attempts, a second each at least, to reach a head. One that is there answers the first.
        os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "3")
    elif nodes in (1, None):
        # A Ray of our own would keep a token in the home folder: this one is nobody else's, and gone with us. What it starts is our
        # program, which is not to give way to others.
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
        os.environ.setdefault("RAY_worker_niceness", "0")
    return address
