"""Running a test from Python: by the command, in a process of its own, so that what else this process does costs the measurement
nothing. Reading what came of it is ``runs``'s."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from loadline.runs import Run, folder_of_runs, open

#: Exit codes behind which something was measured: criteria held or failed, the measurement is invalid, they could not be decided, or
#: it was stopped.
_MEASURED = (0, 1, 4, 5, 129, 130, 143)


class Refused(Exception):
    """There was no run, or none that measured anything: why, as the command said it."""


def run(
    what: str | os.PathLike[str] | Mapping[str, Any],
    *,
    target: str | None = None,
    rate: str | None = None,
    connections: int | None = None,
    duration: str | None = None,
    check: str | Iterable[str] = (),
    seed: int | None = None,
    runs: str | os.PathLike[str] | None = None,
    arguments: Iterable[str] = (),
    echo: bool = False,
) -> Run:
    """Runs a test and reads what it measured. ``what`` is a URL, the path of a plan or of a test file that ``loadline run`` takes,
    ``lab:NAME``, or a plan as a dictionary (paths in it are best absolute); ``check`` are criteria; ``arguments`` are further ones of
    the command line, an item for each. With ``echo`` the command's own output is shown. Criteria that fail are no exception: look at
    ``verdict``."""
    if isinstance(arguments, (str, bytes)):
        raise TypeError(f"arguments={arguments!r} is a text: give a list with an item for each argument, as in ['--seed', '1']")
    with tempfile.TemporaryDirectory(prefix="loadline-") as folder:
        told = Path(folder) / "summary.json"
        options: dict[str, Any] = {
            "--target": target,
            "--rate": rate,
            "--connections": connections,
            "--duration": duration,
            "--seed": seed,
            "--runs": folder_of_runs(runs),
            "--json": told,
        }
        command = [_binary(), "run", _named(what, Path(folder))]
        for flag, value in options.items():
            command += [] if value is None else [flag, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
        for criterion in [check] if isinstance(check, str) else check:
            command += ["--check", criterion]
        code, said = _carried_out([*command, *arguments], echo)
        if code not in _MEASURED or not told.is_file():
            raise Refused(_reason(code, said, told))
        record = json.loads(told.read_bytes())["record"]
    if record is None:
        raise Refused(f"the record could not be written: {said.strip()}")
    return open(Path(record).absolute())


def _reason(code: int, said: str, summary: Path) -> str:
    """Why nothing was measured: of a run without answers what happened to its requests, otherwise what the command wrote."""
    if summary.is_file():
        found = json.loads(summary.read_bytes())
        most = max(found["errors"], key=lambda error: error["count"], default=None)
        requests = found["requests"]
        if requests["ok"] + requests["failed"] == 0:
            often = "" if most is None else f", most often because of: {most['reason']}"
            return f"none of {requests['issued']} requests was answered{often} (record: {found['record']})"
    if code < 0:
        return f"the command was ended by {signal.Signals(-code).name}. {said}".strip()
    return said.strip() or f"the command ended with exit code {code}"


def _named(what: str | os.PathLike[str] | Mapping[str, Any], folder: Path) -> str:
    """As the command line has it."""
    if not isinstance(what, Mapping):
        return os.fspath(what)
    plan = folder / "plan.json"
    plan.write_text(json.dumps({"loadline": 1, **what}))
    return str(plan)


def _binary() -> str:
    """The command that was installed with this package, else the one of the search path."""
    beside = [Path(sysconfig.get_path("scripts")), Path(sys.executable).parent]
    for folder in beside:
        if (folder / "loadline").is_file():
            return str(folder / "loadline")
    found = shutil.which("loadline")
    if found is None:
        raise FileNotFoundError("no command `loadline` beside this Python or on PATH: install the package with pip")
    return found


def _carried_out(command: list[str], echo: bool) -> tuple[int, str]:
    """Its exit code, and what it said of why. An interrupt is passed on, and the command left to write down what there is."""
    pipe = None if echo else subprocess.PIPE
    # Of a group of its own: an interrupt from the terminal comes to it once, from here.
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, encoding="utf-8", errors="replace", process_group=0
    ) as process:
        try:
            _, said = process.communicate()
        except BaseException:
            process.send_signal(signal.SIGINT)
            process.communicate()
            raise
    return process.returncode, said or ""
