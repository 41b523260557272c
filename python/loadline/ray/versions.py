"""Versions of Ray that are known to work.

Does not import Ray, so that a missing package can be reported.
"""

from __future__ import annotations

from importlib import metadata

from loadline.ray.refusal import Refused

#: The first allowed version, and the first untested one. 2.52 brought token authentication, without
#: which a cluster reachable by others is refused. Placement groups, concurrency groups and errors
#: of dead actors are unchanged since. tests/cluster_ray was run with both ends of the range: 2.52.1
#: by hand, 2.60.0 always.
FIRST = (2, 52)
BEYOND = (2, 61)


def check() -> str:
    """Returns the installed version of Ray. Refuses untested versions."""
    try:
        version = metadata.version("ray")
    except metadata.PackageNotFoundError:
        raise Refused("Ray is not installed: run pip install 'loadline[ray]'") from None
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if not FIRST <= numbers < BEYOND:
        first, beyond = (".".join(map(str, numbers)) for numbers in (FIRST, BEYOND))
        raise Refused(f"Ray {version} is not supported (use at least {first}, below {beyond}): pip install 'ray>={first},<{beyond}'")
    return version
