"""What tests need beside Python: the first that misses a tool names it, with the package to install."""

import os
import shutil

PACKAGES = {
    "wrk": "wrk",
    "openssl": "openssl",
    "chromium": "chromium",
    "pdftotext": "poppler-utils",
    "mosquitto": "mosquitto",
    "mosquitto_sub": "mosquitto-clients",
}


def need(tool: str) -> str:
    """The path of a tool."""
    # Servers are where not every user looks.
    path = shutil.which(tool) or shutil.which(tool, path=os.environ.get("SERVERS", "/usr/sbin"))
    assert path, f"{tool} is not installed: apt-get install {PACKAGES[tool]}"
    return path
