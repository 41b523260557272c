"""What tests need beside Python: the first that misses a tool names it, with the package to install."""

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
}
#: Servers are where not every user looks.
SERVERS = ":".join(["/usr/sbin", *sorted(glob.glob("/usr/lib/postgresql/*/bin"))])


def need(tool: str) -> str:
    """The path of a tool."""
    path = shutil.which(tool) or shutil.which(tool, path=os.environ.get("SERVERS", SERVERS))
    assert path, f"{tool} is not installed: apt-get install {PACKAGES[tool]}"
    return path
