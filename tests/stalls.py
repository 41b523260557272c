"""Detects that the machine stood still while a test ran, so that the test may be repeated once.

A virtual machine can stop for tens of milliseconds. A test that fails during such a stall is repeated; a test session in which
more than MAX_REPEATED tests were repeated fails.
"""

import threading
import time

#: A thread that wakes up this much too late has seen the machine stand still.
STALL_S = 0.05
#: Tests that take longer are not repeated.
MAX_TEST_S = 150
#: More repeated tests than this fail the session.
MAX_REPEATED = 5
INTERVAL_S = 0.005


class StallMonitor:
    """A thread that only sleeps, and remembers the longest delay of its wake-ups."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            before = time.monotonic()
            time.sleep(INTERVAL_S)
            self.longest_s = max(self.longest_s, time.monotonic() - before - INTERVAL_S)

    def start(self) -> None:
        self.longest_s = 0.0

    def saw_stall(self) -> bool:
        return self.longest_s > STALL_S


monitor = StallMonitor()
#: The tests of this process that were repeated, each with the length of the stall.
repeated: list[str] = []
