"""Request heads, cached by content, and response heads, parsed on demand."""

from __future__ import annotations

import zlib

#: Methods in the form used on the wire; the clients convert others.
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


class Blocks(dict):
    """Cached lines of request heads that depend only on their inputs."""

    #: Maximum number of entries.
    MOST = 1024

    def keep(self, key, block):
        """Stores an entry and returns it."""
        if len(self) >= self.MOST:
            self.clear()
        self[key] = block
        return block


def reason(head: bytes) -> str:
    """Returns the reason phrase of the status line."""
    parts = head.partition(b"\r\n")[0].decode("latin-1").split(" ", 2)
    return parts[2].strip() if len(parts) == 3 else ""


def version(head: bytes) -> str:
    """Returns the HTTP version, such as ``HTTP/1.1``."""
    return head[:8].decode("latin-1")


def fields(head: bytes) -> list[tuple[str, str]]:
    """Returns the header names as received, with their values."""
    found: list[tuple[str, str]] = []
    for line in head.decode("latin-1").split("\n")[1:]:
        line = line.rstrip("\r")
        if line[:1] in (" ", "\t") and found:
            # An obsolete folded header line.
            name, value = found[-1]
            found[-1] = (name, f"{value} {line.strip()}")
            continue
        name, colon, value = line.partition(":")
        if colon:
            found.append((name, value.strip()))
    return found


def missing(head: bytes, length: int) -> int | None:
    """Returns how many bytes of a body are missing, or None if its length is unknown."""
    for name, value in fields(head):
        if name.lower() == "content-length" and value.isdigit():
            return int(value) - length
    return None


def encoding(head: bytes) -> str:
    """Returns the content encoding."""
    return next((value.lower() for name, value in fields(head) if name.lower() == "content-encoding"), "")


def decoding_error(packed_in: str, body: bytes) -> Exception:
    """Returns the error of Python's libraries for a body that the engine could not decode."""
    try:
        if packed_in == "gzip":
            zlib.decompress(body, 16 + zlib.MAX_WBITS)
        elif packed_in == "deflate":
            try:
                zlib.decompress(body, -zlib.MAX_WBITS)
            except zlib.error:
                zlib.decompress(body)
        else:
            import brotli

            brotli.decompress(body)
    except Exception as error:
        return error
    return zlib.error(f"{packed_in}: larger than the limit")
