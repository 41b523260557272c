"""Runs a test from Python with the `loadline` command, in a separate process.

Other work in this process therefore does not affect the measurement. Results are read by ``runs``.
"""

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

#: Exit codes after which there is a measurement: criteria passed or failed, invalid, inconclusive,
#: or stopped.
_MEASURED = (0, 1, 4, 5, 129, 130, 143)


class Refused(Exception):
    """The run did not start or measured nothing. The message is from the command."""


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
    """Runs a test and returns its results.

    ``what`` is a URL, a plan, a test file that ``loadline run`` accepts, ``lab:NAME``, or a plan as
    a dictionary. Paths in a dictionary should be absolute. ``check`` lists criteria. ``arguments``
    are additional command line arguments, one item each. ``echo`` shows the command's output.

    Failed criteria raise no exception; see ``verdict``.
    """
    if isinstance(arguments, (str, bytes)):
        raise TypeError(f"arguments={arguments!r} is a string: use a list with one item per argument, for example ['--seed', '1']")
    with tempfile.TemporaryDirectory(prefix="loadline-") as folder:
        summary = Path(folder) / "summary.json"
        options: dict[str, Any] = {
            "--target": target,
            "--rate": rate,
            "--connections": connections,
            "--duration": duration,
            "--seed": seed,
            "--runs": folder_of_runs(runs),
            "--json": summary,
        }
        command = [_binary(), "run", _named(what, Path(folder))]
        for flag, value in options.items():
            command += [] if value is None else [flag, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
        for criterion in [check] if isinstance(check, str) else check:
            command += ["--check", criterion]
        code, output = _execute([*command, *arguments], echo)
        if code not in _MEASURED or not summary.is_file():
            raise Refused(_reason(code, output, summary))
        record = json.loads(summary.read_bytes())["record"]
    if record is None:
        raise Refused(f"the record could not be written: {output.strip()}")
    return open(Path(record).absolute())


def _reason(code: int, output: str, summary: Path) -> str:
    """Returns why nothing was measured: the errors of requests if there are any, otherwise the
    command's output.
    """
    if summary.is_file():
        found = json.loads(summary.read_bytes())
        most = max(found["errors"], key=lambda error: error["count"], default=None)
        requests = found["requests"]
        if requests["ok"] + requests["failed"] == 0:
            often = "" if most is None else f", most often because of: {most['reason']}"
            return f"none of {requests['issued']} requests was answered{often} (record: {found['record']})"
    if code < 0:
        return f"the command was ended by {signal.Signals(-code).name}. {output}".strip()
    return output.strip() or f"the command ended with exit code {code}"


def _named(what: str | os.PathLike[str] | Mapping[str, Any], folder: Path) -> str:
    """Returns the test as a command line argument."""
    if not isinstance(what, Mapping):
        return os.fspath(what)
    plan = folder / "plan.json"
    plan.write_text(json.dumps({"loadline": 1, **what}))
    return str(plan)


def _binary() -> str:
    """Returns the path of the command installed with this package, or otherwise the one on PATH."""
    folders = [Path(sysconfig.get_path("scripts")), Path(sys.executable).parent]
    for folder in folders:
        if (folder / "loadline").is_file():
            return str(folder / "loadline")
    found = shutil.which("loadline")
    if found is None:
        raise FileNotFoundError("there is no command `loadline` in the folder of this Python or on PATH: install the package with pip")
    return found


def _execute(command: list[str], echo: bool) -> tuple[int, str]:
    """Runs the command.

    Returns its exit code and its messages. Forwards an interrupt and waits for the record.
    """
    pipe = None if echo else subprocess.PIPE
    # In its own process group: an interrupt of the terminal reaches it once, from here.
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, encoding="utf-8", errors="replace", process_group=0
    ) as process:
        try:
            _, output = process.communicate()
        except BaseException:
            process.send_signal(signal.SIGINT)
            process.communicate()
            raise
    return process.returncode, output or ""
