"""Frames on the pipe to the conductor, equal in both directions: stream number, length, bytes.

A frame of the control stream is a JSON object. Any other belongs to the node of that number; an
empty one ends its stream.
"""

from __future__ import annotations

import json
import os
import struct
import threading
from typing import Any

CONTROL = 0xFFFFFFFF
_HEAD = struct.Struct("<II")
#: A longer frame is a protocol error.
_MOST = 512 * 1024 * 1024


class Broken(Exception):
    """The data is not a valid frame, or ends within one."""


class Pipe:
    """The connection to the conductor. Many threads write to it, and one thread reads from it."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._writing = threading.Lock()

    @classmethod
    def taken_over(cls) -> Pipe:
        """Takes over standard input and output.

        Ray prints to them from Python and C++, and any stray line would corrupt a frame. Standard
        error is silenced too.
        """
        pipe = cls(os.dup(0), os.dup(1))
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        os.close(nothing)
        return pipe

    def read(self) -> tuple[int, bytes] | None:
        """Returns the next frame, or None if the conductor has closed its end."""
        head = self._exactly(_HEAD.size, may_end=True)
        if head is None:
            return None
        stream, length = _HEAD.unpack(head)
        if length > _MOST:
            raise Broken(f"a frame of {length} bytes exceeds the limit")
        return stream, self._exactly(length) or b""

    def _exactly(self, length: int, may_end: bool = False) -> bytes | None:
        gathered = bytearray()
        while len(gathered) < length:
            more = os.read(self._incoming, min(length - len(gathered), 1 << 20))
            if not more:
                if may_end and not gathered:
                    return None
                raise Broken("the pipe ended within a frame")
            gathered += more
        return bytes(gathered)

    def write(self, stream: int, data: bytes) -> None:
        """Blocks while the conductor is not reading. Raises ``BrokenPipeError`` if it has exited."""
        left = memoryview(_HEAD.pack(stream, len(data)) + data)
        with self._writing:
            while left:
                left = left[os.write(self._outgoing, left) :]

    def send_control(self, **what: Any) -> None:
        """Sends a message on the control stream."""
        self.write(CONTROL, json.dumps(what).encode())
