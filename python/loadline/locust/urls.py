"""The target of a request, for URLs that need no normalisation.

Others are handled by the original client.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

#: Characters that no client changes in a path or query.
_PLAIN = re.compile(r"/[A-Za-z0-9\-._~!$&'()*+,;=:@/?]*\Z")
_PLAIN_HOST = re.compile(r"[a-z0-9.\-]+\Z")

#: Host, port, and whether it is https.
Whom = tuple[str, int, bool]


class Base:
    """A base URL, parsed once."""

    __slots__ = ("host_header", "origin", "prefix", "url", "whom")

    def __init__(self, url: str | None) -> None:
        self.url = url
        self.whom: Whom | None = None
        #: The prefix of paths, and the origin before it.
        self.prefix = self.origin = ""
        self.host_header = b""
        found = split_plain(url or "")
        if found is not None:
            self.whom, self.host_header, path = found
            self.prefix = "" if path == "/" and not (url or "").endswith("/") else path
            if "?" in self.prefix or "#" in (url or ""):
                self.whom = None
            scheme, _, rest = (url or "").partition("://")
            self.origin = f"{scheme}://{rest.partition('/')[0]}"

    def path(self, url: str) -> str | None:
        """Returns the path of a URL, or None if it has another host or would be rewritten."""
        if url.startswith("/"):
            path = self.prefix + url
        elif self.origin and url.startswith(self.origin) and url[len(self.origin) : len(self.origin) + 1] == "/":
            path = url[len(self.origin) :]
        else:
            return None
        return path if is_plain(path) else None


def is_plain(path: str) -> bool:
    """Returns whether a path is sent unchanged."""
    return _PLAIN.match(path) is not None and "/." not in path and not path.startswith("//")


def split_plain(url: str) -> tuple[Whom, bytes, str] | None:
    """Returns host, port, TLS, Host header and path of a plain URL, or None if it is not plain."""
    if not url.startswith(("http://", "https://")):
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    host = parts.hostname or ""
    if parts.username is not None or parts.fragment or not _PLAIN_HOST.match(parts.netloc.partition(":")[0]):
        return None
    tls = parts.scheme == "https"
    path = parts.path or "/"
    if parts.query:
        path += "?" + parts.query
    elif url.endswith("?"):
        return None
    if not is_plain(path):
        return None
    standard = 443 if tls else 80
    header = parts.netloc if port not in (None, standard) else host
    return (host, port or standard, tls), header.encode("ascii"), path
