"""A machine that is too busy to measure on makes runs INVALID, and rightly so. That is accepted of a run and counted: where it is the
rule, either the machine cannot measure or the verdict is wrong."""

import subprocess
from collections import Counter

# Of this process; under xdist each worker hands its own to the session.
here: Counter[str] = Counter()
in_all: Counter[str] = Counter()
# Of fewer runs nothing can be said.
ENOUGH_RUNS = 10


def exits(run: subprocess.CompletedProcess[str], code: int) -> bool:
    """Whether a run exits with a code that its figures decide, or is INVALID and says so."""
    busy = run.returncode == 4 and code != 4 and "measurement INVALID" in run.stdout
    here["runs"] += 1
    here["excused"] += busy
    return run.returncode == code or busy


def are_too_many() -> bool:
    return in_all["runs"] > ENOUGH_RUNS and in_all["excused"] * 5 > in_all["runs"]


def told() -> str:
    text = f"{in_all['excused']} of {in_all['runs']} judged runs were excused: their measurement was INVALID"
    return text + (", which is more than a fifth" if are_too_many() else "")
