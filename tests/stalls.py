"""Detects stalls of the machine, so that a test that failed during one is repeated once.

A virtual machine can stop for tens of milliseconds. A session in which more than MAX_REPEATED tests
were repeated fails.
"""

import os
import threading
import time

#: A wake-up that is later than this is a stall.
STALL_S = 0.05
#: Tests that take longer are not repeated.
MAX_TEST_S = 150
#: More repeated tests than this fail the session.
MAX_REPEATED = 5
INTERVAL_S = 0.005


class StallMonitor:
    """A thread per CPU that only sleeps. Records the longest delay of their wake-ups.

    A single CPU can stop, which a thread on another one does not see.
    """

    def __init__(self) -> None:
        self.longest_s = 0.0
        for cpu in os.sched_getaffinity(0):
            threading.Thread(target=self._watch, args=(cpu,), daemon=True).start()

    def _watch(self, cpu: int) -> None:
        # For the calling thread only.
        os.sched_setaffinity(0, {cpu})
        while True:
            before = time.monotonic()
            time.sleep(INTERVAL_S)
            self.longest_s = max(self.longest_s, time.monotonic() - before - INTERVAL_S)

    def start(self) -> None:
        self.longest_s = 0.0

    def saw_stall(self) -> bool:
        return self.longest_s > STALL_S


monitor = StallMonitor()
#: The repeated tests of this process, each with the duration of the stall.
repeated: list[str] = []
