"""The setup of the test suite reports every missing tool."""

import subprocess
from pathlib import Path

import pytest
from required_tools import PACKAGES, tool_path

TOOLS = ["wrk", "openssl", "chromium", "pdftotext", "mosquitto", "mosquitto_sub", "initdb", "redis-server", "prometheus"]
TOOLS += ["nginx", "nghttpd"]
HTTP2 = ["nginx", "nghttp2-server"]
SERVERS = ["postgresql", "redis-server", "prometheus", *HTTP2]
MISSING = Path(__file__).parent / "missing-packages"


@pytest.mark.parametrize(
    ("there", "missing"),
    [
        ([], ["wrk", "openssl", "chromium", "poppler-utils", "mosquitto", "mosquitto-clients", *SERVERS, "lua-cjson"]),
        (["wrk", "openssl", "chromium", "mosquitto", "mosquitto_sub"], ["poppler-utils", *SERVERS, "lua-cjson"]),
        (
            ["pdftotext", "redis-server", "cjson.so"],
            ["wrk", "openssl", "chromium", "mosquitto", "mosquitto-clients", "postgresql", "prometheus", *HTTP2],
        ),
        ([*TOOLS, "cjson.so"], []),
    ],
)
def test_missing_packages_lists_each_absent_tool(tmp_path, there, missing):
    for name in there:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    env = {"PATH": str(tmp_path), "SERVERS": str(tmp_path), "LUA_MODULES": str(tmp_path)}
    run = subprocess.run(["/bin/bash", MISSING], env=env, capture_output=True, text=True, check=True)
    assert run.stdout.split() == missing, run.stderr


def test_missing_tool_is_named_with_its_package(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SERVERS", str(tmp_path))
    for tool, package in PACKAGES.items():
        with pytest.raises(AssertionError, match=f"{tool} is not installed: apt-get install {package}"):
            tool_path(tool)
