"""Fixtures of the tests that compare with the original Artillery."""

from __future__ import annotations

import fcntl
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "bench/node"
# Artillery, and a package that processors often use. Other packages are dependencies of Artillery.
PINNED = ["artillery@2.0.21", "@faker-js/faker@8.4.1"]


@pytest.fixture(scope="session")
def artillery() -> Path:
    """Returns the command of the original Artillery."""
    command = FOLDER / "node_modules/.bin/artillery"
    FOLDER.mkdir(parents=True, exist_ok=True)
    # Workers of a parallel session would install into the same folder.
    with (FOLDER / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (command.exists() and (FOLDER / "node_modules/@faker-js/faker").exists()):
            (FOLDER / ".npmrc").write_text("omit-lockfile-registry-resolved=true\n")
            (FOLDER / "package.json").write_text('{ "private": true }\n')
            install = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", *PINNED]
            installed = subprocess.run(install, cwd=FOLDER, timeout=600, capture_output=True, text=True)
            assert installed.returncode == 0, f"{PINNED} cannot be installed here: {installed.stderr}"
    return command
