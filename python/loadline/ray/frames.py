"""Frames on the pipe to the conductor, the same both ways: a stream's number, a length, so many bytes. A frame of the control stream
is a JSON object; any other belongs to the node of that number, and one without bytes is the end of its stream. What frames mean is
not known here."""

from __future__ import annotations

import json
import os
import struct
import threading
from typing import Any

CONTROL = 0xFFFFFFFF
_HEAD = struct.Struct("<II")
#: Whoever announces more does not speak frames.
_MOST = 512 * 1024 * 1024


class Broken(Exception):
    """What came is no frame, or stops in the middle of one."""


class Pipe:
    """The conductor's end of everything. Written to from many threads, read from by one."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._writing = threading.Lock()

    @classmethod
    def taken_over(cls) -> Pipe:
        """Standard input and output, which nobody else in this process has any more: Ray prints to them from Python and from C++,
        and one stray line would be taken for a frame. Standard error goes with them, as Ray's chatter does."""
        pipe = cls(os.dup(0), os.dup(1))
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        os.close(nothing)
        return pipe

    def read(self) -> tuple[int, bytes] | None:
        """The next frame; none when the conductor has closed its end."""
        head = self._exactly(_HEAD.size, may_end=True)
        if head is None:
            return None
        stream, length = _HEAD.unpack(head)
        if length > _MOST:
            raise Broken(f"a frame of {length} bytes was announced")
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
        """Waits for as long as the conductor does not read; raises ``BrokenPipeError`` when it is gone."""
        left = memoryview(_HEAD.pack(stream, len(data)) + data)
        with self._writing:
            while left:
                left = left[os.write(self._outgoing, left) :]

    def tell(self, **what: Any) -> None:
        """A message of the control stream."""
        self.write(CONTROL, json.dumps(what).encode())
