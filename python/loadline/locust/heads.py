"""Heads: those of requests, remembered as they were written last; those of answers, taken apart when somebody looks at them."""

from __future__ import annotations

import zlib

#: Methods as they are written on the wire; the clients bring others into that form.
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


class Blocks(dict):
    """The lines of requests' heads that depend on nothing but what they were made of."""

    #: So many are remembered.
    MOST = 1024

    def keep(self, key, block):
        """Remembers one, and answers it."""
        if len(self) >= self.MOST:
            self.clear()
        self[key] = block
        return block


def reason(head: bytes) -> str:
    """The words behind the status."""
    parts = head.partition(b"\r\n")[0].decode("latin-1").split(" ", 2)
    return parts[2].strip() if len(parts) == 3 else ""


def version(head: bytes) -> str:
    """``HTTP/1.1``."""
    return head[:8].decode("latin-1")


def fields(head: bytes) -> list[tuple[str, str]]:
    """Names as they came, with their values."""
    found: list[tuple[str, str]] = []
    for line in head.decode("latin-1").split("\n")[1:]:
        line = line.rstrip("\r")
        if line[:1] in (" ", "\t") and found:
            # An old way to go on with a value.
            name, value = found[-1]
            found[-1] = (name, f"{value} {line.strip()}")
            continue
        name, colon, value = line.partition(":")
        if colon:
            found.append((name, value.strip()))
    return found


def missing(head: bytes, length: int) -> int | None:
    """So many bytes are missing of a body of which so many came; none: nobody knows."""
    for name, value in fields(head):
        if name.lower() == "content-length" and value.isdigit():
            return int(value) - length
    return None


def encoding(head: bytes) -> str:
    """What the body is packed in."""
    return next((value.lower() for name, value in fields(head) if name.lower() == "content-encoding"), "")


def why_sealed(packed_in: str, body: bytes) -> Exception:
    """What Python's own libraries say of a body that the engine could not unpack."""
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
    return zlib.error(f"{packed_in}: more than can be kept")
