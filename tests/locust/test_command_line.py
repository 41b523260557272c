"""The command line compared with Locust's: error messages, exit codes and output files."""

from __future__ import annotations

import csv
import json
import os
import re
import sys

import pytest
from scripted_server import ScriptedServer

USER = """
from locust import HttpUser, constant, task

class User(HttpUser):
    wait_time = constant(0.02)

    @task
    def get(self):
        self.client.get("/")
        self.client.get("/missing")
"""


def _plain(text: str) -> list[str]:
    """Removes times, the host's name, and Loadline's own lines."""
    text = re.sub(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] \S+?/", "", text)
    return [line.rstrip() for line in text.splitlines() if not line.startswith("loadline: ")]


@pytest.mark.parametrize(
    ("file", "arguments"),
    [
        (None, ("--headless",)),
        ("", ("--headless",)),
        ("def f(:\n", ("--headless",)),
        ("import nothing_of_this_name\n", ("--headless",)),
        (USER, ("--no-such-option",)),
        (USER, ("--headless", "-t", "soon")),
        (USER, ("--csv-full-history",)),
        (USER, ("--list",)),
        (USER, ("--version",)),
        (USER, ("--headless", "-t", "1", "NoUser")),
    ],
)
def test_bad_input_is_reported_as_in_locust(locust, file, arguments):
    if file is not None:
        locust.write(file)
    stock, ours = locust.stock(*arguments), locust.ours(*arguments)
    assert ours.returncode == stock.returncode
    where = str(sys.prefix)
    clean = lambda text: _plain(text.replace(where, ""))  # noqa: E731
    assert clean(ours.stdout)[:1] == clean(stock.stdout)[:1]
    assert clean(ours.stderr)[-1:] == clean(stock.stderr)[-1:]


def test_missing_host_is_reported_as_in_locust(locust):
    locust.write(USER)
    stock, ours = locust.stock("--headless", "-t", "2"), locust.ours("--headless", "-t", "2")
    said = [line for line in _plain(stock.stderr) if "base host" in line]
    assert said
    assert [line for line in _plain(ours.stderr) if "base host" in line] == said
    assert ours.returncode == stock.returncode


def test_file_in_the_folder_hides_no_package(locust):
    """`python -m` would import it in place of the package."""
    locust.write(USER)
    locust.write("raise SystemExit(9)\n", "gevent.py")
    stock, ours = locust.stock("--list"), locust.ours("--list")
    assert (ours.returncode, _plain(ours.stdout)) == (stock.returncode, _plain(stock.stdout)), ours.stderr
    assert "User" in ours.stdout


# Locust writes its files at intervals and not at the end. On a busy machine, a short run may have only one.
OFTEN = """
import locust.stats

locust.stats.CSV_STATS_INTERVAL_SEC = 0.1
locust.stats.CSV_STATS_FLUSH_INTERVAL_SEC = 0.1
"""


def test_output_files_and_tables_equal_locusts(locust):
    locust.write(USER + OFTEN)
    kinds = ("stats", "stats_history", "failures", "exceptions")
    with ScriptedServer() as server:
        for run, name in ((locust.stock, "stock"), (locust.ours, "ours")):
            done = run(
                *("--headless", "-u", 2, "-r", 2, "-t", 2, "-H", server.url, "--csv", name, "--html", f"{name}.html"),
                *("--json-file", name, "--csv-full-history"),
            )
            assert done.returncode == 1, done.stderr
            (locust.folder / f"{name}.txt").write_text(done.stderr)

    def table(name: str, kind: str) -> list[list[str]]:
        with (locust.folder / f"{name}_{kind}.csv").open(newline="") as file:
            return list(csv.reader(file))

    for kind in kinds:
        assert table("ours", kind)[0] == table("stock", kind)[0]
    for name in ("stock", "ours"):
        rows = table(name, "stats")
        assert [row[:2] for row in rows[1:]] == [["GET", "/"], ["GET", "/missing"], ["", "Aggregated"]]
        failures = table(name, "failures")
        assert failures[1][:3] == ["GET", "/missing", "HTTPError('404 Client Error: NOT FOUND for url: /missing')"]
    keys = [sorted(entry) for entry in json.loads((locust.folder / "stock.json").read_text())]
    assert [sorted(entry) for entry in json.loads((locust.folder / "ours.json").read_text())] == keys
    assert "templateArgs" in (locust.folder / "ours.html").read_text()


def test_missing_extra_is_reported_with_the_install_command(locust, tmp_path):
    python = tmp_path / "python3"
    python.write_text('#!/bin/sh\n[ "$1" = -c ] && exit 7\nexit 99\n')
    python.chmod(0o755)
    run = locust.ours("--headless", env={"LOADLINE_PYTHON": str(python)})
    assert run.returncode == 2
    assert run.stderr.splitlines() == [
        f"loadline: {python} does not have the package `loadline`: "
        "install Locust and its dependencies with: pip install 'loadline[locust]'; "
        "set LOADLINE_PYTHON to use another Python"
    ]
    nowhere = locust.ours("--headless", env={"LOADLINE_PYTHON": "/no/such/python"})
    assert nowhere.returncode == 2
    assert len(nowhere.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("package", "version", "range_"),
    [("locust", "9.9.9", "(use at least 2.47, below 2.48)"), ("geventhttpclient", "2.5.1", "(use at least 2.6, below 2.7)")],
)
def test_untested_version_is_refused(locust, tmp_path, package, version, range_):
    # Package metadata that precedes the installed package.
    info = tmp_path / f"site/{package}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    locust.write(USER)
    path = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])
    run = locust.ours("--headless", env={"PYTHONPATH": path})
    assert run.returncode == 1
    assert run.stderr.startswith(f"loadline: {package} {version} is not supported {range_}")
    assert len(run.stderr.splitlines()) == 1


def test_run_command_accepts_locustfiles_with_native_flags(locust, loadline):
    locust.write(USER.replace('self.client.get("/missing")', "pass"))
    with ScriptedServer() as server:
        words = ("--target", server.url, "--connections", 3, "--duration", "2s", "--runs", "kept")
        run = loadline("run", "locustfile.py", *words, "--check", "errors < 1%", "--", "--only-summary")
    summary = json.loads((locust.folder / "kept/last/summary.json").read_text())
    assert run.returncode == int(summary["exit_code"] != 0), run.stderr
    assert summary["users"]["max"] == 3
    assert [judged["text"] for judged in summary["criteria"]] == ["errors < 1%"]
    assert "All users spawned" in run.stderr


@pytest.mark.parametrize(
    "flag", [("--once",), ("--stop", "errors > 10%: stop fail"), ("--target", "lab:truth"), ("--duration", "1500ms")]
)
def test_run_flag_without_locust_equivalent_is_refused(locust, loadline, flag):
    locust.write(USER)
    run = loadline("run", "locustfile.py", *flag)
    assert run.returncode == 2
    assert run.stderr.startswith(f"loadline: {flag[0]}")
    assert run.stderr.count("\n") == 1
