"""Which versions of Ray are known to work. Does not import Ray, so that it can say what is missing."""

from __future__ import annotations

from importlib import metadata

from loadline.ray.refusal import Refused

#: The first version that is allowed, and the first that nobody has tried. 2.52 brought token authentication, without which a cluster
#: that others reach is refused; placement groups, concurrency groups and the errors of dead actors have been the same since. Both
#: ends of the range have been tried by the whole of tests/cluster_ray: 2.52.1 by hand, 2.60.0 every time.
FIRST = (2, 52)
BEYOND = (2, 61)


def check() -> str:
    """The version of Ray that is installed. Refuses what nobody has tried."""
    try:
        version = metadata.version("ray")
    except metadata.PackageNotFoundError:
        raise Refused("Ray is not installed: pip install 'loadline[ray]' brings it") from None
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if not FIRST <= numbers < BEYOND:
        first, beyond = (".".join(map(str, numbers)) for numbers in (FIRST, BEYOND))
        raise Refused(
            f"Ray {version} is not among the versions that work (from {first}, below {beyond}): pip install 'ray>={first},<{beyond}'"
        )
    return version
