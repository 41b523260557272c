"""The index of runs: the list, and the history of a metric with its shifts."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import shutil
import sqlite3
import struct
import subprocess
import termios
from pathlib import Path

import pytest
from conftest import LOADLINE

PLAN = """
loadline: 1
name: shop
target: TARGET
load: {rate: 40/s, duration: 500ms}
steps:
  - get: /order?token=s3cret-of-the-plan
"""


@pytest.fixture
def shop(loadline, start_lab):
    """Returns a function that runs the shop's plan and returns the finished process."""
    path = loadline.write("plan.yml", PLAN.replace("TARGET", start_lab("truth").url))

    def run(*flags: str):
        ran = loadline("run", path, *flags)
        assert ran.returncode == 0, ran.stderr
        return ran

    return run


def runs_of(loadline) -> Path:
    return loadline.folder / ".loadline/runs"


def index(loadline) -> sqlite3.Connection:
    return sqlite3.connect(runs_of(loadline) / "history.sqlite")


def listed(loadline, *flags: str) -> list[dict]:
    ran = loadline("list", "--json", "-", *flags)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_list_shows_newest_runs_first_and_filters(loadline, shop):
    shop("--tag", "main", "--check", "errors < 1%")
    shop("--tag", "nightly", "--name", "till")
    ran = loadline("list")
    lines = ran.stdout.splitlines()
    assert ran.returncode == 0
    assert ran.stderr == ""
    assert re.match(r"began \(UTC\) +verdict +rate +errors +p50 +p95 +p99$", lines[0])
    assert re.match(r"20\d\d-\d\d-\d\d \d\d:\d\d +VALID +[\d.]+/s +0 % ", lines[1]), lines[1]
    assert re.match(r"  20\d{6}T\d{6}Z-[0-9a-f]{4} · till · nightly · open, 40/s", lines[2]), lines[2]
    assert " PASS " in lines[3]
    assert " · shop · main · " in lines[4]
    newest, oldest = listed(loadline)
    assert [newest["name"], newest["tags"], oldest["criteria"]] == ["till", ["nightly"], "PASS"]
    assert newest["began_ns"] > oldest["began_ns"]
    assert [run["name"] for run in listed(loadline, "--tag", "main")] == ["shop"]
    assert [run["name"] for run in listed(loadline, "--last", "1")] == ["till"]
    assert [run["name"] for run in listed(loadline, "--name", "shop")] == ["shop"]


def test_index_has_the_figures_of_the_summary(loadline, shop):
    shop()
    summary = loadline.summary()
    (run,) = listed(loadline)
    all_rows = run["rows"][0]
    assert (all_rows["subject"], all_rows["count"]) == ("all", summary["all"]["count"])
    assert all_rows["error_share"] == summary["all"]["error_share"]
    assert all_rows["per_second"] == summary["all"]["per_second"]
    response = next(times for times in all_rows["times"] if times["span"] == "response")
    assert response["percentiles"][0] == summary["all"]["response"]["p50"]["ns"]
    rows = index(loadline).execute("select kind, label from rows order by place").fetchall()
    assert rows[0] == ("all", "")
    assert rows[1][0] == "endpoint"
    assert rows[1][1].startswith("GET /order")


def test_index_keeps_deleted_runs_and_is_rebuilt_from_records(loadline, shop):
    shop("--tag", "old")
    gone = runs_of(loadline) / listed(loadline)[0]["run"]
    shutil.rmtree(gone)
    shop("--tag", "new")
    assert [run["recorded"] for run in listed(loadline)] == [True, False]
    assert "record deleted" in loadline("list").stdout
    before = listed(loadline)[0]
    (runs_of(loadline) / "history.sqlite").unlink()
    after = listed(loadline)
    assert after == [before]


def test_rebuilt_index_equals_the_original(loadline, shop):
    shop("--tag", "one")
    before = listed(loadline)
    with index(loadline) as changed:
        changed.execute("update rows set count = 7")
    assert listed(loadline)[0]["rows"][0]["count"] == 7
    assert listed(loadline, "--rebuild") == before


def test_damaged_index_is_replaced_with_a_warning(loadline, shop):
    shop("--tag", "one")
    file = runs_of(loadline) / "history.sqlite"
    file.write_bytes(b"no database " * 400)
    ran = loadline("list")
    assert ran.returncode == 0
    assert ran.stderr.count("\n") == 1
    assert "history.sqlite.damaged-1" in ran.stderr
    assert "1 run;" in ran.stdout
    assert (runs_of(loadline) / "history.sqlite.damaged-1").read_bytes().startswith(b"no database")
    # A run that finds a damaged index warns and still succeeds.
    file.write_bytes(b"no database " * 400)
    ran = shop("--tag", "two")
    assert "warning: the index of runs was damaged" in ran.stderr
    assert len(listed(loadline)) == 2


def test_unwritable_index_gives_a_warning(loadline, shop):
    runs_of(loadline).mkdir(parents=True)
    (runs_of(loadline) / "history.sqlite").mkdir()
    ran = shop()
    assert ran.stderr.count("warning: cannot update the index of runs") == 1
    listing = loadline("list")
    assert listing.returncode == 0
    assert "1 run;" in listing.stdout
    assert "warning: cannot update the index of runs" in listing.stderr


def test_concurrent_runs_are_all_indexed(loadline, shop):
    shop()
    running = [loadline.start("run", "plan.yml", "--tag", f"n{i}") for i in range(6)]
    for run in running:
        run.communicate(timeout=60)
        assert run.returncode == 0
    rows = index(loadline).execute("select run from runs").fetchall()
    assert len(rows) == 7
    assert len(set(listed(loadline)[0])) > 10


def test_index_contains_no_secrets(loadline, shop):
    shop("-H", "Authorization: Bearer an0ther-secret", "--name", "named s3cret-of-the-plan")
    shop()
    bytes_of_it = (runs_of(loadline) / "history.sqlite").read_bytes()
    assert b"GET /order" in bytes_of_it
    for secret in (b"s3cret-of-the-plan", b"an0ther-secret"):
        assert secret not in bytes_of_it, secret


def test_list_fits_a_narrow_terminal(loadline, shop):
    shop("--tag", "a-rather-long-tag-of-somebody", "--name", "the name of a test that says all of what it does, and why, and for whom")
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    listing = subprocess.Popen([LOADLINE, "list"], cwd=loadline.folder, stdin=subprocess.DEVNULL, stdout=theirs)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):
        while read := os.read(ours, 65536):
            shown += read
    os.close(ours)
    assert listing.wait(timeout=20) == 0
    lines = re.sub("\x1b\\[[0-9;]*m", "", shown.decode()).splitlines()
    assert max(map(len, lines)) <= 80, lines


def add_copies(loadline, values: list[float], name: str = "copied") -> None:
    """Adds one copy of the newest run to the index per value, with that value as its median."""
    database = index(loadline)
    (run,) = database.execute("select run from runs order by began_ns desc limit 1").fetchone()
    tables = {
        table: [column[1] for column in database.execute(f"pragma table_info({table})")]
        for table in ("runs", "tags", "fingerprint", "rows", "times")
    }
    with database:
        database.execute("update runs set fault = null")
        for i, value in enumerate(values):
            for table, columns in tables.items():
                kept = ", ".join(columns)
                changed = ", ".join(
                    {"run": f"'{name}-{i:03}'", "began_ns": f"began_ns + {i + 1}", "p50_ns": str(value)}.get(c, c) for c in columns
                )
                database.execute(f"insert into {table} ({kept}) select {changed} from {table} where run = ?", (run,))


def noisy_values(n: int, step: tuple[int, float] | None = None) -> list[float]:
    """Returns deterministic values that differ by about 2 %."""
    state, values = 12345, []
    for i in range(n):
        total = 0.0
        for _ in range(12):
            state = (1103515245 * state + 12345) % 2**31
            total += state / 2**31
        by = 1 + step[1] if step and i >= step[0] else 1
        values.append(2e7 * by * (1 + 0.02 * (total - 6)))
    return values


def test_step_in_sixty_runs_is_found_and_drawn(loadline, shop):
    shop("--tag", "main")
    add_copies(loadline, noisy_values(60, (40, 0.07)))
    ran = loadline("history", "p50", "--last", "60", "--json", "h.json", "--html", "h.html")
    assert ran.returncode == 0, ran.stderr
    course = json.loads((loadline.folder / "h.json").read_text())
    (change,) = course["shifts"]
    assert abs(change["at"] - 40) <= 1
    assert change["run"] == f"copied-{change['at']:03}"
    assert change["worse"]
    assert change["change"] == pytest.approx(0.07, abs=0.02)
    lines = ran.stdout.splitlines()
    dots = [line for line in lines if "•" in line]
    assert sum(line.count("•") for line in dots) >= 55
    assert any("┊" in line for line in lines)
    assert max(map(len, lines)) <= 100
    assert re.search(r"1  \+\d\.\d %, worse: [12]\d\.\d ms → 2\d\.\d ms from copied-0\d\d", ran.stdout)
    assert "60 runs, 1 shift: p50 rose by" in ran.stdout
    page = (loadline.folder / "h.html").read_text()
    assert "<svg" in page
    assert "copied-059" in page
    assert "Shifts" in page
    flat = loadline("history", "p50", "--last", "19")
    assert "19 runs, one level" in flat.stdout


def test_runs_that_cannot_be_compared_are_excluded_with_reasons(loadline, shop):
    shop("--tag", "main")
    add_copies(loadline, noisy_values(12))
    with index(loadline) as changed:
        changed.execute("update runs set fault = 'its measurement is INVALID: late' where run = 'copied-003'")
        changed.execute("update fingerprint set value = 'open, 1/s' where run in ('copied-004', 'copied-005') and name = 'load'")
    ran = loadline("history", "p50", "--last", "12")
    assert "not counted: 1 run, its measurement is INVALID: copied-003" in ran.stdout
    text = " ".join(ran.stdout.split())
    assert "not counted: 2 runs, different load: open, 1/s, expected open, 40/s" in text
    assert "9 runs, one level" in ran.stdout
    assert "11 runs, one level" in loadline("history", "p50", "--last", "12", "--anyway").stdout


WRONG = [
    (("history", "p50 of"), "FIGURE"),
    (("history", "unsent"), "only times, errors, rate and tokens rate of runs can be compared"),
    (("history", 'p50 of "GET /nowhere"'), "no usable run has"),
    (("history", "p98"), "the index always contains errors and rate"),
    (("history", "p50", "--margin", "5"), "--margin"),
    (("history", "p50", "--tag", "nobody"), "has the tag `nobody`"),
    (("list", "--name", "nobody"), "existing names: shop"),
    (("list", "--last", "0"), "--last 0"),
    (("list", "--runs", "nowhere"), "no such folder"),
]


def test_history_bad_input_is_one_line(loadline, shop):
    shop()
    for args, said in WRONG:
        ran = loadline(*args)
        assert ran.returncode == 2, (args, ran.stdout)
        assert said in ran.stderr, (args, ran.stderr)
        assert ran.stderr.count("\n") == 1, (args, ran.stderr)


def test_list_without_runs_creates_no_files(loadline):
    ran = loadline("list")
    assert ran.returncode == 2
    assert "create one with `loadline run`" in ran.stderr
    assert not (loadline.folder / ".loadline").exists()
    assert subprocess.run(["ls", loadline.folder], capture_output=True, text=True).stdout == ""
