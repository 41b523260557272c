"""The processes of this machine as a tree. A process may end at any moment, also while it is read."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path


def children(pid: int) -> list[int]:
    """Returns the processes that `pid` started itself, in order."""
    return sorted(children_of_all().get(pid, []))


def descendants(pid: int) -> list[int]:
    """Returns the processes below `pid`, in order."""
    of = children_of_all()
    found: list[int] = []
    open_pids = [pid]
    while open_pids:
        below = of.get(open_pids.pop(), [])
        found += below
        open_pids += below
    return sorted(found)


def children_of_all() -> dict[int, list[int]]:
    of: dict[int, list[int]] = defaultdict(list)
    # The kernel's lists of children belong to threads, and are gone when their thread ends.
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = stat.read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        of[int(parent)].append(int(stat.parent.name))
    return of


def arguments(pid: int) -> list[bytes]:
    """Returns the command line of a process: nothing if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        return []
