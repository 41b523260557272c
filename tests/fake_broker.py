"""A small MQTT 3.1.1 broker with configurable delays and its own counters."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading


class FakeBroker:
    """Serves in a thread until it is closed.

    Delays are in seconds. With `reset_after`, the broker answers CONNECT, reads nothing more, and
    resets the connection.
    """

    def __init__(self, *, connack=0.0, suback=0.0, delivery=0.0, reset_after=None, refuses_filters=False) -> None:
        self.connack, self.suback, self.delivery = connack, suback, delivery
        self.reset_after, self.refuses_filters = reset_after, refuses_filters
        self.published = self.delivered = self.connected = 0
        self.before_subscription = 0
        self.subscribers: set[asyncio.StreamWriter] = set()
        self.tasks: set[asyncio.Task] = set()
        self.loop = asyncio.new_event_loop()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> FakeBroker:
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(timeout=20)
        self.listener.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(asyncio.start_server(self._serve, sock=self.listener))
        self.loop.run_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while await self._answer(*await read_packet(reader), writer):
                pass
        self.subscribers.discard(writer)
        writer.close()

    async def _answer(self, kind: int, flags: int, body: bytes, writer: asyncio.StreamWriter) -> bool:
        if kind == 1:
            await asyncio.sleep(self.connack)
            writer.write(b"\x20\x02\x00\x00")
            self.connected += 1
            if self.reset_after is not None:
                writer.transport.pause_reading()
                await asyncio.sleep(self.reset_after)
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                writer.transport.abort()
                return False
        elif kind == 8:
            await asyncio.sleep(self.suback)
            writer.write(b"\x90\x03" + body[:2] + (b"\x80" if self.refuses_filters else b"\x00"))
            if not self.refuses_filters:
                self.subscribers.add(writer)
        elif kind == 3:
            self.published += 1
            self.before_subscription += not self.subscribers
            topic_end = 2 + int.from_bytes(body[:2], "big")
            if flags & 6:
                writer.write(b"\x40\x02" + body[topic_end : topic_end + 2])
                body = body[:topic_end] + body[topic_end + 2 :]
            message = b"\x30" + remaining_length(len(body)) + body
            if self.delivery:
                self.loop.call_later(self.delivery, self._deliver, message)
            else:
                self._deliver(message)
        elif kind == 12:
            writer.write(b"\xd0\x00")
        return kind != 14

    def _deliver(self, message: bytes) -> None:
        for subscriber in self.subscribers:
            subscriber.write(message)
            self.delivered += 1


async def read_packet(reader: asyncio.StreamReader) -> tuple[int, int, bytes]:
    """Reads the next packet. Returns its kind, its flags and its body."""
    first = (await reader.readexactly(1))[0]
    size = shift = 0
    while True:
        byte = (await reader.readexactly(1))[0]
        size |= (byte & 127) << shift
        shift += 7
        if not byte & 128:
            return first >> 4, first & 15, await reader.readexactly(size)


def remaining_length(size: int) -> bytes:
    """Encodes a remaining length."""
    out = b""
    while True:
        size, low = divmod(size, 128)
        out += bytes([low | (128 if size else 0)])
        if not size:
            return out
