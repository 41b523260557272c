"""What tests need beside Python: the first that misses a tool names it, with the package to install."""

import shutil

PACKAGES = {"wrk": "wrk", "openssl": "openssl", "chromium": "chromium", "pdftotext": "poppler-utils"}


def need(tool: str) -> str:
    """The path of a tool."""
    path = shutil.which(tool)
    assert path, f"{tool} is not installed: apt-get install {PACKAGES[tool]}"
    return path
