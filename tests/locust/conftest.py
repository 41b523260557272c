"""Fixtures that run the original `locust` command and `loadline locust`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ports
import pytest

ROOT = Path(__file__).parent.parent.parent
STOCK = Path(sys.executable).parent / "locust"


class Locust:
    """Runs both commands in their own folder, without the user's settings."""

    def __init__(self, loadline, folder: Path) -> None:
        self.loadline, self.folder = loadline, folder

    def stock(self, *args: object, env: dict[str, str] | None = None, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        return self.loadline.run(STOCK, *args, env=env, timeout=timeout)

    def ours(self, *args: object, env: dict[str, str] | None = None, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        return self.loadline("locust", *args, env=env, timeout=timeout)

    def start(self, *args: object, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
        """Starts `loadline locust` in its own process group."""
        return self.loadline.start("locust", *args, start_new_session=True, env={**os.environ, **(env or {})})

    def start_stock(self, *args: object) -> subprocess.Popen[str]:
        """Starts the original command in its own process group."""
        return subprocess.Popen(
            [STOCK, *map(str, args)],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    @staticmethod
    @contextmanager
    def stopping(*processes: subprocess.Popen[str]) -> Iterator[None]:
        """Kills the process groups on exit, including forked processes."""
        try:
            yield
        finally:
            for process in processes:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()

    @staticmethod
    def two_processes() -> tuple[object, ...]:
        """Returns flags for two processes on a free port."""
        port = ports.free()
        return ("--processes", 2, "--master-bind-host", "127.0.0.1", "--master-bind-port", port, "--master-port", port)

    def write(self, text: str, name: str = "locustfile.py") -> Path:
        return self.loadline.write(name, text)


@pytest.fixture
def locust(loadline, tmp_path: Path) -> Locust:
    return Locust(loadline, tmp_path)
