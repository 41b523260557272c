"""Checks that Locust and its HTTP clients have versions that are known to work.

Loadline replaces internals of theirs, for which they make no promise, so each version is tried
before it is named here.
"""

from importlib import metadata

#: Package, first version that works, first version that was not tried.
TESTED = (
    ("locust", (2, 47), (2, 48)),
    ("geventhttpclient", (2, 6), (2, 7)),
    ("requests", (2, 32), (3, 0)),
    ("urllib3", (2, 0), (3, 0)),
)


class Unusable(Exception):
    """One line with the reason why Locust cannot be run."""


def check() -> str:
    """Returns the version of Locust. Raises Unusable if a package is missing or was not tested."""
    for package, first, beyond in TESTED:
        check_package(package, first, beyond)
    return metadata.version("locust")


def check_package(package: str, first: tuple[int, ...], beyond: tuple[int, ...]) -> None:
    try:
        version = metadata.version(package)
    except metadata.PackageNotFoundError:
        raise Unusable(f"{package} is not installed: run pip install 'loadline[locust]'") from None
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if not first <= numbers < beyond:
        low, high = (".".join(map(str, numbers)) for numbers in (first, beyond))
        raise Unusable(
            f"{package} {version} is not supported (use at least {low}, below {high}): pip install '{package}>={low},<{high}'"
        )
