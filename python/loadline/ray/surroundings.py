"""Environment variables that Ray reads on import.

Must be called before Ray is imported; does not import it.
"""

from __future__ import annotations

import os
import secrets


def prepare(address: str | None, nodes: int | None) -> str | None:
    """Sets the variables.

    Returns the address of the cluster, from the order or from the environment.
    """
    address = address or os.environ.get("RAY_ADDRESS") or None
    # Sends no usage statistics.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Silences a warning about a future default of a feature that is not used.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if address is not None:
        # Attempts, at least one second each, to reach a head node. A running one answers the first.
        os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "3")
    elif nodes in (1, None):
        # A Ray of our own would write a token to the home folder; this random one is used only
        # here. Its processes must not lower their priority.
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
        os.environ.setdefault("RAY_worker_niceness", "0")
    return address
