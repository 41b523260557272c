"""Finds the tools that tests need. A missing tool is reported with its Debian package."""

import glob
import os
import shutil

PACKAGES = {
    "wrk": "wrk",
    "openssl": "openssl",
    "chromium": "chromium",
    "pdftotext": "poppler-utils",
    "mosquitto": "mosquitto",
    "mosquitto_sub": "mosquitto-clients",
    "initdb": "postgresql",
    "redis-server": "redis-server",
    "prometheus": "prometheus",
    "nginx": "nginx",
    "nghttpd": "nghttp2-server",
}
#: Folders of servers, which are not on every user's PATH.
SERVERS = ":".join(["/usr/sbin", *sorted(glob.glob("/usr/lib/postgresql/*/bin"))])


def tool_path(tool: str) -> str:
    """Returns the path of a tool. Fails if the tool is not installed."""
    path = shutil.which(tool) or shutil.which(tool, path=os.environ.get("SERVERS", SERVERS))
    assert path, f"{tool} is not installed: apt-get install {PACKAGES[tool]}"
    return path
