"""The original Artillery, with which `loadline artillery` is compared."""

from __future__ import annotations

import fcntl
import subprocess
from pathlib import Path

from conftest import ROOT, Loadline

FOLDER = ROOT / "bench/node"
# Artillery, a package that processors often use, and servers of Socket.IO. Other packages are
# dependencies of Artillery.
PINNED = ["artillery@2.0.21", "@faker-js/faker@8.4.1", "socket.io@4.8.4", "socket.io-3@npm:socket.io@3.1.2"]
INSTALLED = ["@faker-js/faker", "socket.io", "socket.io-3"]


class Artillery:
    """An installed Artillery."""

    def __init__(self) -> None:
        self.packages = FOLDER / "node_modules"
        self.command = self.packages / ".bin/artillery"

    def install(self) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        # Workers of a parallel session would install into the same folder.
        with (FOLDER / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not all(path.exists() for path in [self.command, *(self.packages / name for name in INSTALLED)]):
                (FOLDER / ".npmrc").write_text("omit-lockfile-registry-resolved=true\n")
                (FOLDER / "package.json").write_text('{ "private": true }\n')
                install = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", *PINNED]
                installed = subprocess.run(install, cwd=FOLDER, timeout=600, capture_output=True, text=True)
                assert installed.returncode == 0, f"{PINNED} cannot be installed here: {installed.stderr}"

    def run(self, loadline: Loadline, *args: object) -> subprocess.CompletedProcess[str]:
        """Runs Artillery without telemetry in the folder of `loadline`."""
        preloaded = Path(__file__).parent / "artillery/no_telemetry.js"
        return loadline.run(self.command, *args, timeout=120, env={"NODE_OPTIONS": f"--require={preloaded}"})
