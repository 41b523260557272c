#!/usr/bin/env python3
"""Measures the report of an hour with 50 endpoints: rendering, opening in a browser, and size.

`make bench-report` runs it. An example of the report crate writes the record, with 500 requests/s.
The whole command is timed five times, including reading. The page is opened in Chromium, if
installed, until a click on a column heading has an effect.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOADLINE = Path(os.environ.get("LOADLINE", Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "dist/loadline"))
CHROMIUM = Path("/usr/bin/chromium")
RUNS = 5


def timed(command: list[str]) -> float:
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def open_times(page_url: str) -> list[tuple[float, float]]:
    """Returns the seconds until the page has loaded, and until a click has had an effect."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return []
    if not CHROMIUM.exists():
        return []
    times = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        for _ in range(RUNS):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            begin = time.monotonic()
            page.goto(page_url, wait_until="load")
            loaded = time.monotonic() - begin
            page.locator("th button").first.click()
            times.append((loaded, time.monotonic() - begin))
            page.close()
        browser.close()
    return times


def main() -> None:
    if not LOADLINE.exists():
        sys.exit(f"needed: {LOADLINE}")
    print(f"# {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} · {platform.node()} {platform.release()} {os.cpu_count()} cores")
    print(f"# {subprocess.run([LOADLINE, '--version'], capture_output=True, text=True).stdout.strip()}")
    with tempfile.TemporaryDirectory() as name:
        hour = ["cargo", "run", "--release", "--quiet", "--locked", "-p", "record", "--example", "hour", name]
        subprocess.run(hour, check=True, cwd=ROOT)
        record = Path(name) / "last"
        size = sum(file.stat().st_size for file in record.rglob("*") if file.is_file())
        times = [timed([str(LOADLINE), "report", "last", "--runs", name]) for _ in range(RUNS)]
        print(f"record          {size / 1e6:.0f} MB")
        print(f"loadline report {statistics.median(times):.1f} s ({min(times):.1f} to {max(times):.1f}; target 30)")
        for file in ("series.json", "report.html"):
            print(f"{file:15} {(record / file).stat().st_size / 1e3:.0f} kB")
        times = open_times((record / "report.html").as_uri())
        for at, what, target in ((0, "page loaded", 2), (1, "page answers", 1)) if times else ():
            seconds = [pair[at] for pair in times]
            print(f"{what:15} {statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f}; target {target})")


if __name__ == "__main__":
    main()
