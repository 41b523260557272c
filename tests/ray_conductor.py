"""The conductor's side of ``python -m loadline.ray``: sends and receives its frames."""

from __future__ import annotations

import base64
import json
import os
import struct
import subprocess
import sys
import threading
from pathlib import Path

from conftest import wait_until

CONTROL = 0xFFFFFFFF
HEAD = struct.Struct("<II")


class Conductor:
    """A started helper process, and the frames received from it."""

    def __init__(self, folder: Path, python: list[str] | None = None, env: dict[str, str] | None = None) -> None:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "LOADLINE"))}
        self.process = subprocess.Popen(
            [*(python or [sys.executable]), "-m", "loadline.ray"],
            cwd=folder,
            env={**inherited, **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._changed = threading.Condition()
        self.messages: list[dict] = []
        self.streams: dict[int, bytearray] = {}
        self.ended: list[int] = []
        self.is_over = False
        threading.Thread(target=self._listen, daemon=True).start()

    def order(self, nodes: int | None, arguments: list[str], **more: object) -> None:
        files = [[name, base64.b64encode(content).decode()] for name, content in dict(more.pop("files", {})).items()]
        asked = {"address": None, "timeout_s": 60, "folder": ".", "environment": {}, "insecure": True}
        self.send(CONTROL, json.dumps({"nodes": nodes, "arguments": arguments, "files": files, **asked, **more}).encode())

    def send(self, stream: int, data: bytes) -> None:
        self.process.stdin.write(HEAD.pack(stream, len(data)) + data)
        self.process.stdin.flush()

    def _listen(self) -> None:
        output = self.process.stdout
        while len(head := output.read(HEAD.size)) == HEAD.size:
            stream, length = HEAD.unpack(head)
            data = output.read(length)
            with self._changed:
                if stream == CONTROL:
                    self.messages.append(json.loads(data))
                elif data:
                    assert stream not in self.ended
                    self.streams.setdefault(stream, bytearray()).extend(data)
                else:
                    self.ended.append(stream)
                self._changed.notify_all()
        with self._changed:
            assert head == b"", "a torn frame"
            self.is_over = True
            self._changed.notify_all()

    def wait_for(self, condition, what: str, seconds: float = 60) -> object:
        with self._changed:
            found = self._changed.wait_for(lambda: condition() or self.is_over, seconds) and condition()
        assert found, (
            f"{what} never came; messages: {self.messages}, read: { {number: len(data) for number, data in self.streams.items()} }"
        )
        return found

    def placed(self) -> list[dict]:
        return self.wait_for(lambda: [one["placed"] for one in self.messages if "placed" in one], "a place on each node")[0]

    def lost(self, number: int, seconds: float = 60) -> dict:
        return self.wait_for(lambda: [one for one in self.messages if one.get("lost") == number], f"the loss of {number}", seconds)[0]

    def output_lines(self, number: int) -> list[str]:
        return [one["text"] for one in self.messages if one.get("printed") == number]

    def line(self, number: int) -> dict:
        """Returns the first line of the fake node, which describes its environment."""
        data = self.wait_for(lambda: b"\n" in self.streams.get(number, b"") and self.streams[number], f"a line of {number}")
        return json.loads(data.partition(b"\n")[0])

    def refusal(self, seconds: float = 90) -> str:
        """Waits until the helper exits with code 3.

        Returns the only message, which must be one line.
        """
        assert self.process.wait(seconds) == 3
        self.wait_for(lambda: self.is_over, "the end")
        assert [list(one) for one in self.messages] == [["refused"]], self.messages
        assert self.process.stderr.read() == b""
        line = self.messages[0]["refused"]
        assert "\n" not in line
        return line

    def close(self, code: int = 0) -> None:
        """Closes the input. The helper must exit with `code` and print nothing outside frames."""
        self.process.stdin.close()
        assert self.process.wait(60) == code
        assert self.process.stderr.read() == b""

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()


def is_gone(pid: int) -> bool:
    """Returns True also for a process that has ended and was not reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def assert_gone(pid: int, folder: str) -> None:
    wait_until(lambda: is_gone(pid), f"the end of {pid}")
    wait_until(lambda: not Path(folder).exists(), f"the end of {folder}")
