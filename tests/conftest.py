"""Fixtures of all black-box tests: the installed command, labs, and certificates."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import certificates as made
import pytest
import stalls
from _pytest.runner import runtestprotocol

pytest_plugins = ["chromium"]

ROOT = Path(__file__).parent.parent
LOADLINE = Path(os.environ.get("LOADLINE", Path(sys.executable).parent / "loadline"))


INHERITED = ("NO_COLOR", "COLUMNS", "LINES", "SSL_CERT_FILE")


def reset_inherited_state() -> None:
    """Gives every test the same environment, independent of the shell or service that started pytest.

    A child inherits ignored signals, the signal mask, the umask and the environment.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    os.umask(0o022)
    for name in list(os.environ):
        if name.startswith(("LOADLINE_", "OTEL_", "K6_")) or name.upper().endswith("_PROXY") or name in INHERITED:
            del os.environ[name]
    os.environ["TERM"] = "xterm-256color"
    # With this mutant a busy machine makes no measurement invalid. Tests marked `timed` run without
    # it.
    os.environ["LOADLINE_MUTANT"] = "lateness-forgiven"


reset_inherited_state()


class Loadline:
    """Runs the command in its own folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *args: object, timeout: float = 60, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return self.run(LOADLINE, *args, timeout=timeout, env=env)

    def run(self, *command: object, timeout: float = 60, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Runs any command in the folder."""
        return subprocess.run(
            list(map(str, command)),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(env or {})},
        )

    def start(self, *args: object, stderr: int = subprocess.PIPE, **options: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [LOADLINE, *map(str, args)],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=stderr,
            stdin=subprocess.DEVNULL,
            text=True,
            **options,
        )

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def summary(self, run: str = "last") -> dict:
        return json.loads((self.folder / ".loadline/runs" / run / "summary.json").read_text())

    def errors(self) -> dict[str, int]:
        """Returns the count of each error reason of the last run."""
        return {error["reason"]: error["count"] for error in self.summary()["errors"]}


@pytest.fixture
def loadline(tmp_path: Path) -> Loadline:
    return Loadline(tmp_path)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory) -> Path:
    """TLS certificates, created once per session."""
    return made.make(tmp_path_factory.mktemp("certificates"))


class Lab:
    """A running lab."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process, self.url = process, url

    def stats(self) -> dict:
        with urllib.request.urlopen(f"{self.url}/__lab/stats", timeout=5) as answer:
            return json.load(answer)


@pytest.fixture
def start_lab(tmp_path: Path):
    running = []

    def start(name: str, *args: object) -> Lab:
        process = subprocess.Popen(
            [LOADLINE, "lab", name, "--until-stdin-closes", *map(str, args)],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        url = None
        for line in process.stdout:
            if line.startswith("listening on "):
                url = url or line.removeprefix("listening on ").strip()
            if line == "ready\n":
                break
        assert url, "the lab did not start"
        return Lab(process, url)

    yield start
    for process in running:
        process.stdin.close()
        process.wait(timeout=10)
        process.stdout.close()


@pytest.fixture(autouse=True)
def _judge_lateness(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests marked `timed` see the real verdict on the generator's lateness."""
    if request.node.get_closest_marker("timed"):
        monkeypatch.delenv("LOADLINE_MUTANT", raising=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Starts the longest tests first, so that a parallel session does not end with one busy
    worker.
    """

    def seconds(item: pytest.Item) -> int:
        long = item.get_closest_marker("long")
        return long.kwargs.get("seconds", 10) if long else 0

    items.sort(key=seconds, reverse=True)


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log):
    """Hands out one test at a time. The tests on Ray share a worker and so its cluster."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduler(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "ray" if "cluster_ray/" in nodeid else nodeid

    return Scheduler(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Runs a test, and repeats it once if it failed while the machine stalled."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    stalls.monitor.start()
    began = time.monotonic()
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    is_short = time.monotonic() - began < stalls.MAX_TEST_S
    if any(report.failed for report in reports) and stalls.monitor.saw_stall() and is_short:
        stalls.repeated.append(f"{item.nodeid}: stalled for {stalls.monitor.longest_s * 1000:.0f} ms")
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["repeated"] = stalls.repeated
    elif len(stalls.repeated) > stalls.MAX_REPEATED:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node) -> None:
    stalls.repeated += getattr(node, "workeroutput", {}).get("repeated", [])


def pytest_terminal_summary(terminalreporter) -> None:
    for line in stalls.repeated:
        terminalreporter.write_line(f"repeated after a stall: {line}")
    if len(stalls.repeated) > stalls.MAX_REPEATED:
        terminalreporter.write_line(f"FAILED: more than {stalls.MAX_REPEATED} tests were repeated")


def wait_until(condition, what: str, seconds: float = 20) -> object:
    """Waits until `condition` returns a truthy value, and returns it. Fails after `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what} never came")
