"""A machine that is too busy to measure on makes runs INVALID, and rightly so. That is accepted of a run; where no witness saw the
machine late meanwhile it is counted, and where that is the rule, the verdict is wrong.

A test that fails where the machine stood still, or was late and made a run of it INVALID, has shown nothing: it is carried out once
more, and that is told. What fails on a machine that keeps time fails at once, and what fails every time fails."""

import subprocess
import threading
import time
from collections import Counter, deque

# Of this process; under xdist each worker hands its own to the session.
here: Counter[str] = Counter()
in_all: Counter[str] = Counter()
# The tests that were carried out more than once, each with the reason.
again: list[str] = []
# Of fewer runs nothing can be said.
ENOUGH_RUNS = 10
# A test is carried out so often at most, and no more once so long is spent on it.
ATTEMPTS, LONG_S = 3, 150
# A machine that nothing ran on for so long stood still: what waits for something to happen may have missed it.
STOOD_STILL_S = 0.05
# The witness looks so often. A look so late would make a run INVALID where it is one in so many; one that is later still holds up
# enough of a short run's requests alone.
LOOK_S, LATE_S, ONE_IN, HELD_UP_S = 0.002, 0.001, 200, 0.004


class Witness:
    """A thread that does nothing but wait, and is late when whatever else waits would be."""

    def __init__(self) -> None:
        self.late_s: deque[float] = deque(maxlen=100_000)
        self.worst_s = 0.0
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while True:
            before = time.monotonic()
            time.sleep(LOOK_S)
            late_s = time.monotonic() - before - LOOK_S
            self.late_s.append(late_s)
            self.worst_s = max(self.worst_s, late_s)

    def was_late(self) -> bool:
        """Whether the machine was, since the last time that somebody asked."""
        looks = list(self.late_s)
        self.late_s.clear()
        return max(looks, default=0) > HELD_UP_S or sum(late > LATE_S for late in looks) * ONE_IN > len(looks)


witness = Witness()


def exits(run: subprocess.CompletedProcess[str], code: int) -> bool:
    """Whether a run exits with a code that its figures decide, or is INVALID and says so."""
    busy = run.returncode == 4 and code != 4 and "measurement INVALID" in run.stdout
    late = witness.was_late()
    here["runs"] += 1
    here["excused"] += busy
    here["unwitnessed"] += busy and not late
    return run.returncode == code or busy


class Attempt:
    """One carrying out of a test."""

    invalid = False

    def __init__(self) -> None:
        Attempt.invalid = False
        witness.worst_s = 0.0

    def has_shown_nothing(self) -> str | None:
        """Why a failure of it says nothing of the product, if so."""
        # What is INVALID while nobody saw the machine late may be a wrong verdict, which is no excuse.
        if Attempt.invalid and witness.worst_s > HELD_UP_S:
            return "the machine was late, and the measurement of a run was INVALID"
        if witness.worst_s > STOOD_STILL_S:
            return f"the machine stood still for {witness.worst_s * 1000:.0f} ms"
        return None


def saw(run: subprocess.CompletedProcess[str]) -> None:
    """Looks at how a run of the test that goes on ended."""
    if run.returncode == 4 or "measurement INVALID" in run.stdout:
        Attempt.invalid = True


def are_too_many() -> bool:
    return in_all["runs"] > ENOUGH_RUNS and in_all["unwitnessed"] * 5 > in_all["runs"]


def told() -> str:
    excused = f"{in_all['excused']} of {in_all['runs']} judged runs were excused: their measurement was INVALID"
    text = f"{excused}, {in_all['unwitnessed']} of them while the machine was not late"
    return text + (", which is more than a fifth" if are_too_many() else "")
