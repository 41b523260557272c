"""The actor of one node: creates a folder, starts the program in it, and forwards bytes unread.

Needs only the standard library, not Ray: this module is sent to the nodes by value, so a node needs
the program but not this package. Calls come in three concurrency groups: ``read``, ``write``, and
``begin`` with ``release``.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections import deque
from pathlib import Path
from typing import IO, Any

#: Path of the program, if there are several.
NAMED = "LOADLINE_BINARY"
#: Makes the program exit with its parent, by a signal of the kernel. The thread that started the
#: program must therefore stay alive.
ENDS_WITH = "LOADLINE_ENDS_WITH"
#: Maximum wait of a read call. Short enough to notice lost processes, with at most two calls per
#: second for an idle program.
PATIENCE_SECONDS = 0.5
#: Maximum output buffered until it is read; then the program blocks.
MOST_BYTES = 8 * 1024 * 1024
#: Maximum bytes per call.
MOST_AT_ONCE = 4 * 1024 * 1024
#: Maximum lines of standard error; more are counted only.
MOST_LINES = 1000
LONGEST_LINE = 8192
#: Other processes may still hold the pipes after the program has ended.
LAST_WORDS_SECONDS = 2.0
#: How often Ray's process is checked.
LOOK_SECONDS = 0.5
#: Time for a program to exit after its standard input was closed, and again after SIGTERM.
GRACE_SECONDS = 5.0

NICE = (
    "warning: Ray lowers the priority of its processes here, so the load is late when other processes need the CPU: "
    "set RAY_worker_niceness=0 in the environment in which Ray starts on this node"
)

#: Outlives this process in any case, notices its end by the end of a pipe, and deletes the folder
#: with the test's files. It reads the program's process group, or an empty line if there is none.
#: It is not a child process of Ray, because Ray kills its children.
GUARD = """
exec 3<&0
{
  group=; tenths=0
  while read -r line; do group=$line; done
  if [ -n "$group" ]; then
    while kill -s 0 -- "-$group" 2>/dev/null && [ "$tenths" -lt 50 ]; do sleep 0.1; tenths=$((tenths + 1)); done
    kill -s KILL -- "-$group" 2>/dev/null
  fi
  rm -rf -- "$1"
} <&3 &
"""


class Node:
    """A program that runs on one node."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._out: deque[bytes] = deque()
        self._out_bytes = 0
        self._output: deque[str] = deque()
        self._unsaid = 0
        self._is_over = threading.Event()
        self._is_closed = self._reported_closed = False
        self._has_input_ended = False
        self._code: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._refusal: str | None = None
        self._root: Path | None = None
        self._guard: IO[bytes] | None = None
        threading.Thread(target=self._end_with_ray, args=(os.getppid(),), name="Ray", daemon=True).start()

    def _end_with_ray(self, parent: int) -> None:
        """Exits if the Ray process that started this one dies.

        Ray would let this process run for another half minute, although the node has left the
        cluster. The program notices by itself; the guard cleans up.
        """
        while not self._is_over.wait(LOOK_SECONDS):
            if os.getppid() != parent:
                os._exit(1)

    def begin(
        self, arguments: list[str], folder: str, files: list[tuple[str, bytes]], environment: dict[str, str]
    ) -> tuple[str, str | None]:
        """Starts the program.

        Returns the machine's name, and a one-line reason if it failed.
        """
        name = socket.gethostname()
        binary = _binary(environment)
        if binary is None:
            return name, f"the program `loadline` is not installed there: run pip install loadline, or set its path in {NAMED}"
        try:
            self._root = Path(tempfile.mkdtemp(prefix="loadline-"))
            self._guard = _guarded(self._root)
            where = self._laid_out(folder, files)
        except OSError as error:
            return name, f"its files cannot be written: {error}"
        # Ray's environment variables, including its token, are not passed to the program.
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
        variables = {**inherited, **environment, ENDS_WITH: str(os.getpid())}
        is_started = threading.Event()
        threading.Thread(
            target=self._attend, args=([binary, *arguments], where, variables, is_started), name="program", daemon=True
        ).start()
        is_started.wait()
        return name, self._refusal

    def _laid_out(self, folder: str, files: list[tuple[str, bytes]]) -> Path:
        assert self._root is not None
        for path, content in files:
            file = self._root / path
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file.write_bytes(content)
            file.chmod(0o600)
        where = self._root / folder
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
        return where

    def _attend(self, command: list[str], where: Path, variables: dict[str, str], is_started: threading.Event) -> None:
        """Runs the program from start to end on one thread: the kernel signals the program when
        this thread ends.
        """
        pipe = subprocess.PIPE
        if _is_nice():
            self._output.append(NICE)
        try:
            process = subprocess.Popen(
                command, cwd=where, env=variables, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, process_group=0
            )
        except OSError as error:
            self._refusal = f"{command[0]} cannot be started: {error}"
            is_started.set()
            return
        self._process = process
        self._tell_guard(str(process.pid))
        readers = [
            threading.Thread(target=self._pull_out, args=(process.stdout,), name="output", daemon=True),
            threading.Thread(target=self._pull_said, args=(process.stderr,), name="errors", daemon=True),
        ]
        for reader in readers:
            reader.start()
        is_started.set()
        code = process.wait()
        self._tell_guard("")
        for reader in readers:
            reader.join(LAST_WORDS_SECONDS)
        with self._changed:
            self._code = code
            self._changed.notify_all()

    def _pull_out(self, output: IO[bytes]) -> None:
        while chunk := _some(output):
            with self._changed:
                self._changed.wait_for(lambda: self._out_bytes < MOST_BYTES or self._is_over.is_set())
                self._out.append(chunk)
                self._out_bytes += len(chunk)
                self._changed.notify_all()
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _pull_said(self, errors: IO[bytes]) -> None:
        # Lines do not wake readers that wait for bytes; they are returned with the next bytes, so a
        # talkative program does not cause more calls.
        with open(errors.fileno(), encoding="utf-8", errors="replace", closefd=False) as lines:
            while line := lines.readline(LONGEST_LINE):
                with self._changed:
                    if len(self._output) < MOST_LINES:
                        self._output.append(line.rstrip("\r\n"))
                    else:
                        self._unsaid += 1

    def read(self) -> tuple[bytes, list[str], bool, int | None]:
        """Returns the output since the last call, after a short wait.

        The result has bytes, lines of standard error, whether the stream of bytes has ended, and
        the exit code after everything was read.
        """
        with self._changed:
            self._changed.wait_for(self._has_news, PATIENCE_SECONDS)
            gathered, size = [], 0
            while self._out and size < MOST_AT_ONCE:
                gathered.append(self._out.popleft())
                size += len(gathered[-1])
            self._out_bytes -= size
            lines = list(self._output)
            if self._unsaid:
                lines.append(f"({self._unsaid} more lines not shown)")
            self._output.clear()
            self._unsaid = 0
            is_drained = not self._out
            self._reported_closed = self._is_closed and is_drained
            self._changed.notify_all()
            return b"".join(gathered), lines, self._reported_closed, self._code if is_drained else None

    def _has_news(self) -> bool:
        return bool(self._out) or self._code is not None or (self._is_closed and not self._reported_closed)

    def write(self, data: bytes) -> None:
        """Writes bytes to the program and blocks while it does not read.

        Empty bytes close its standard input.
        """
        process = self._process
        if process is None or process.stdin is None:
            return
        with contextlib.suppress(OSError, ValueError):
            if not data:
                self._has_input_ended = True
                process.stdin.close()
            left = memoryview(data)
            while left:
                left = left[process.stdin.write(left) or 0 :]

    def release(self) -> None:
        """Stops the program and deletes its folder."""
        self._is_over.set()
        process = self._process
        if process is not None and self._code is None:
            _end(process, self._has_input_ended)
        with self._changed:
            self._changed.notify_all()
        if self._root is not None:
            shutil.rmtree(self._root, ignore_errors=True)
        if self._guard is not None:
            with contextlib.suppress(OSError):
                self._guard.close()
            self._guard = None

    def _tell_guard(self, group: str) -> None:
        if self._guard is not None:
            with contextlib.suppress(OSError, ValueError):
                self._guard.write(f"{group}\n".encode())


def _end(process: subprocess.Popen[Any], ends_by_itself: bool) -> None:
    """Waits for a program whose input has ended, then sends SIGTERM, then SIGKILL.

    The process is reaped only afterwards, so its group number cannot be reused.
    """
    if ends_by_itself:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
            return
    for number, seconds in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, GRACE_SECONDS)):
        with contextlib.suppress(OSError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            return


def _is_nice() -> bool:
    """Resets the priority that Ray lowers for its processes.

    Returns whether it is still lowered.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    return os.getpriority(os.PRIO_PROCESS, 0) > 0


def _guarded(folder: Path) -> IO[bytes]:
    guard = subprocess.Popen(
        ["sh", "-c", GUARD, "sh", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        start_new_session=True,
    )
    # The shell exits immediately; its background process stays.
    guard.wait()
    assert guard.stdin is not None
    return guard.stdin


def _some(output: IO[bytes]) -> bytes:
    try:
        return os.read(output.fileno(), 1 << 16)
    except OSError:
        return b""


def _binary(environment: dict[str, str]) -> str | None:
    """Returns the configured program, or the one installed with this Python, or the one on PATH."""
    named = environment.get(NAMED) or os.environ.get(NAMED)
    if named:
        return named
    for folder in (Path(sysconfig.get_path("scripts")), Path(sys.executable).parent):
        if (folder / "loadline").is_file():
            return str(folder / "loadline")
    return shutil.which("loadline")
