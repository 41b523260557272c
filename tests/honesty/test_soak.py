"""The memory of a long run."""

from pathlib import Path

import pytest
from conftest import wait_until

MINUTE = 60
MB = 1_000_000


def anonymous(pid: int) -> int:
    """Returns the anonymous memory of a process in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


@pytest.mark.proof
@pytest.mark.timeout(1500)
@pytest.mark.alone
@pytest.mark.parametrize("minutes", [20])
def test_run_of_twenty_minutes_needs_little_more_memory_than_five(loadline, start_lab, minutes):
    lab = start_lab("sum")
    process = loadline.start("run", f"{lab.url}/api/sum", "--rate", "2000/s", "--duration", f"{minutes}m")

    def held_at(minute: int) -> int:
        sent = minute * MINUTE * 2000
        wait_until(lambda: lab.stats()["received"]["total"] >= sent, f"minute {minute}", (minute + 1) * MINUTE)
        return anonymous(process.pid)

    # The history has all its points after 12 minutes, and is then joined to fewer of them.
    held = [held_at(minute) for minute in (5, 14, minutes - 1)]
    out, errors = process.communicate(timeout=5 * MINUTE)
    print(f"after 5, 14 and {minutes - 1} minutes: {[size / MB for size in held]} MB")
    assert process.returncode == 0, out + errors
    # A former version grew by 0.13 MB/s, 110 MB in total.
    assert held[1] <= held[0] + 20 * MB
    assert held[2] <= held[1] + 2 * MB
