#!/usr/bin/env python3
"""Measures how often the first bottleneck is named correctly for live services, and whether it is
ever wrong.

`make bench-saturation` runs it: five kinds of the check-in lab, twenty runs of each with different
seeds. An answer is right if it names the resource and, for a thread pool, its cause. "unknown" is a
miss; another name is wrong.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOADLINE = Path(os.environ.get("LOADLINE", Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "dist/loadline"))
RUNS = 20
#: Number of these small runs at a time.
TOGETHER = 8
#: The missing resource, the lab's options, and the expected answer.
WORLDS = {
    "thread pool, slow downstream": ("threads=8&hold=500ms", ("thread pool", "held by lorota")),
    "thread pool, too small": ("threads=4&cores=8&cpu=200ms&hold=1ms", ("thread pool", "too small")),
    "lock": ("threads=8&cpu=5ms&hold=1ms&lock=50ms", ("thread pool", "held by the lock sessions")),
    "CPU": ("threads=16&cores=1&cpu=50ms&hold=1ms", ("CPU", None)),
    "nothing": ("threads=16&cores=4&cpu=5ms&hold=100ms", (None, None)),
}
PLAN = """loadline: 1
target: lab:checkin?instances=2&{options}&seed={seed}
server: {{ puma: lab:1/metrics }}
load:
  - {{ rate: 2/s, duration: 5s }}
  - {{ rate: 60/s, duration: 20s, arrivals: poisson }}
steps:
  - get: '/check_in/v2/sessions/{{{{ $uuid }}}}'
"""


def first_bottleneck(options: str, seed: int) -> tuple[str | None, str | None]:
    """Returns the resource that a run names first, and its cause without figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "plan.yml").write_text(PLAN.format(options=options, seed=seed))
        command = [LOADLINE, "run", "plan.yml", "--seed", str(seed), "--drain", "5s", "--no-guard"]
        subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=150)
        found = json.loads((folder / ".loadline/runs/last/summary.json").read_text())["saturation"]
    if found["first"] is None:
        return ("unknown" if found["reached"] else None), None
    first = found["reached"][found["first"]]
    cause = first.get("cause")
    return first["resource"], cause and cause.split(":")[0]


def main() -> None:
    if not LOADLINE.exists():
        sys.exit(f"needed: {LOADLINE}")
    version = subprocess.run([LOADLINE, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"# {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} · {platform.node()} {platform.release()} {os.cpu_count()} cores")
    print(f"# {version} · {TOGETHER} runs at a time")
    is_bad = False
    for world, (options, wanted) in WORLDS.items():
        with ThreadPoolExecutor(TOGETHER) as pool:
            found = list(pool.map(lambda seed, options=options: first_bottleneck(options, seed), range(1, RUNS + 1)))
        right = found.count(wanted)
        # No answer and "unknown" are not misleading.
        missed = sum(one != wanted and one[0] in ("unknown", None) for one in found)
        wrong = [one for one in found if one != wanted and one[0] not in ("unknown", None)]
        print(f"{world}: right in {right} of {RUNS}, unknown in {missed}, wrong in {len(wrong)} {wrong or ''}".rstrip(), flush=True)
        is_bad = is_bad or right < RUNS - 1 or bool(wrong)
    sys.exit(is_bad)


if __name__ == "__main__":
    main()
