"""The installed command and what black-box tests need around it: labs, scripted peers, records."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request
from pathlib import Path

import certificates as made
import excuses
import pytest
from _pytest.runner import runtestprotocol

pytest_plugins = ["browsing"]

ROOT = Path(__file__).parent.parent
LOADLINE = Path(os.environ.get("LOADLINE", ROOT / ".venv/bin/loadline"))


class Loadline:
    """The command, run in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *args: object, timeout: float = 60, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return self.run(LOADLINE, *args, timeout=timeout, env=env)

    def run(self, *command: object, timeout: float = 60, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Any command, in its folder."""
        ran = subprocess.run(
            list(map(str, command)),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(env or {})},
        )
        excuses.saw(ran)
        return ran

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


@pytest.fixture
def loadline(tmp_path: Path) -> Loadline:
    return Loadline(tmp_path)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory) -> Path:
    """Certificates for servers of TLS, made once."""
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


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Carries a test out, and once more where it failed and showed nothing by it."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    began = time.monotonic()
    for left in reversed(range(excuses.ATTEMPTS)):
        attempt = excuses.Attempt()
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        why = attempt.has_shown_nothing() if any(report.failed for report in reports) else None
        if why is None or left == 0 or time.monotonic() - began > excuses.LONG_S:
            break
        excuses.again.append(f"{item.nodeid}: {why}")
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["excuses"] = dict(excuses.here)
        session.config.workeroutput["again"] = excuses.again
        return
    excuses.in_all.update(excuses.here)
    if excuses.are_too_many():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node) -> None:
    output = getattr(node, "workeroutput", {})
    excuses.in_all.update(output.get("excuses", {}))
    excuses.again += output.get("again", [])


def pytest_terminal_summary(terminalreporter) -> None:
    terminalreporter.write_line(excuses.told())
    for line in excuses.again:
        terminalreporter.write_line(f"carried out again: {line}")


def until(condition, what: str, seconds: float = 20) -> object:
    """Waits for something that another process does; fails when it never comes."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what} never came")
