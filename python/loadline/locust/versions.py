"""Which versions of Locust are known to work: it has no promise for what is replaced here, so each is tried before it is named."""

from importlib import metadata

#: The first version that works, and the first that nobody has tried.
FIRST = (2, 47)
BEYOND = (2, 48)


class Unusable(Exception):
    """One line of why Locust cannot be run."""


def check() -> str:
    """The version of Locust that is installed. Refuses what nobody has tried."""
    try:
        version = metadata.version("locust")
    except metadata.PackageNotFoundError:
        raise Unusable("locust is not installed: pip install 'loadline[locust]' brings it") from None
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if not FIRST <= numbers < BEYOND:
        first, beyond = (".".join(map(str, numbers)) for numbers in (FIRST, BEYOND))
        raise Unusable(
            f"locust {version} is not among the versions that work (from {first}, below {beyond}): "
            f"pip install 'locust>={first},<{beyond}'"
        )
    return version
