"""Scripts and command lines run through wrk and through Loadline: bytes on the wire, calls of
script functions, and report lines are equal.
"""

import re
import subprocess
import time

import fake_servers
import pytest
import wire_recorder
from conftest import LOADLINE
from required_tools import tool_path

# When the original prints and ends depends on its threads, which a busy machine delays.
pytestmark = pytest.mark.alone


@pytest.fixture(autouse=True, scope="module")
def original() -> None:
    """Without wrk there are no figures to compare with, so the tests fail."""
    tool_path("wrk")


SUM = """
request = function()
  local a, b = math.random(3), math.random(3)
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  wrk.body = '{"a":' .. a .. ',"b":' .. b .. '}'
  return wrk.format(nil, "/api/sum")
end
"""
COUNTED = """
print("load")
local threads = {}
setup = function(thread) table.insert(threads, thread) print("setup", #threads) end
init = function(args) asked, answered = 0, 0 print("init", #args, args[1]) end
request = function() asked = asked + 1 return wrk.format("GET", "/n") end
response = function(status, headers, body) answered = answered + 1 end
done = function(summary, latency, requests)
  local all, answers = 0, 0
  for _, thread in ipairs(threads) do
    all = all + thread:get("asked")
    answers = answers + thread:get("answered")
  end
  print("calls", all, answers, summary.requests, summary.errors.read)
end
"""
PIPELINED = """
init = function()
  batch = wrk.format("GET", "/1") .. wrk.format("POST", "/2", {}, "x=1") .. wrk.format("DELETE", "/3")
end
request = function() return batch end
"""
STATIC = """
wrk.method = "POST"
wrk.body = "name=value"
wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"
wrk.headers["X-Number"] = 5
"""

ONE = ["-t1", "-c1", "-d1s"]
HEADERS = ["-H", "X-A: 1", "-H", "x-a: 2", "-H", "Host: other", "-H", "none:dropped"]

# The script, the options, the path, and optional server behaviour.
CASES = {
    "plain": ("", [*ONE, "--latency"], "/a?b=c"),
    "two threads": ("", ["-t2", "-c4", "-d1s"], ""),
    "headers": ("", [*ONE, *HEADERS], "/"),
    "the sum": (SUM, ["-t1", "-c2", "-d1s", "--latency"], "/"),
    "static": (STATIC, ONE, "/form"),
    "counted": (COUNTED, ONE, "/"),
    "counted twice": (COUNTED, ["-t2", "-c4", "-d1s"], "/"),
    "pipelined": (PIPELINED, ONE, "/"),
    "absolute": ('request = function() return wrk.format("GET", "http://else.where/x") end', ONE, "/"),
    "broken": ("request = function(", ONE, "/"),
    "boom": ('request = function() error("boom") end', ONE, "/"),
    "late": ('response = function() error("late") end', ONE, "/"),
    "in done": ('done = function() error("done") end', ONE, "/"),
    "nil": ("request = function() end", ONE, "/"),
    "method": ('wrk.method = "FOO"', ONE, "/"),
    "path": ('wrk.path = "nope"', ONE, "/"),
    "length": ('request = function() return "POST / HTTP/1.1\\r\\nContent-Length: -1\\r\\n\\r\\n" end', ONE, "/"),
    "usage": ("", ["-t2", "-c1", "-d1s"], "/"),
    "unit": ("", ["-t1", "-c1", "-d1sec"], "/"),
    "operands": ("init = function(a) print(a[0] ~= nil, a[1], a[2]) end", ONE, "/", "one", "-d1s", "two"),
}


def shape(text: str) -> list[str]:
    text = re.sub(r"http://\S+", "URL", text)
    text = text[: text.index("Usage:")] if "Usage:" in text else text
    lines = [re.sub(r"-?(\d+(\.\d+)?|nan)(us|ms|s|m|[kKMGT])?(?=[\s%B,]|$)", "#", line) for line in text.splitlines()]
    return [re.sub(r"[ \t]+", " ", line) for line in lines]


def run(command, folder, case, answer=wire_recorder.ANSWER):
    script, options, path, *more = CASES[case]
    if script:
        (folder / "t.lua").write_text(script)
        options = [*options, "-s", "t.lua"]
    with wire_recorder.WireRecorder(answer) as peer:
        host = peer.url.removeprefix("http://")
        done = subprocess.run([*command, *options, peer.url + path, *more], cwd=folder, capture_output=True, text=True, timeout=30)
        peer.wait_until_served()
        total = peer.total()
        seen = {(line, frozenset(header.replace(host, "HOST") for header in headers), body) for line, headers, body in peer.seen}
    err = [line for line in done.stderr.splitlines() if not line.startswith("loadline:")]
    return done, seen, total, err


@pytest.mark.parametrize("case", CASES)
def test_wrk_and_loadline_behave_identically(loadline, case):
    theirs, their_seen, their_total, their_err = run(["wrk"], loadline.folder, case)
    ours, our_seen, our_total, our_err = run([LOADLINE, "wrk"], loadline.folder, case)
    assert ours.returncode == theirs.returncode
    assert our_err == their_err
    assert our_seen == their_seen
    # wrk's threads start one by one and Loadline's together, so their output before the test has
    # another order.
    ordered = sorted if case == "counted twice" else list
    assert ordered(shape(ours.stdout)) == ordered(shape(theirs.stdout))
    if case.startswith("counted"):
        for done, total in ((theirs, their_total), (ours, our_total)):
            calls, answers, requests, _ = map(int, re.search(r"calls\t(\d+)\t(\d+)\t(\d+)\t(\d+)", done.stdout).groups())
            # One call only inspects the request; every response was passed to the script.
            assert calls - 1 == total
            assert answers == requests


def test_error_statuses_and_closed_connections_equal_wrks(loadline):
    for answer in (
        b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
    ):
        theirs, *_ = run(["wrk"], loadline.folder, "plain", answer)
        ours, *_ = run([LOADLINE, "wrk"], loadline.folder, "plain", answer)
        assert shape(ours.stdout) == shape(theirs.stdout), answer
        assert ("Non-2xx" in ours.stdout) == (b"503" in answer)


def test_connection_closed_after_each_response_equals_wrks(loadline):
    def once(connection):
        if connection.recv(65536):
            connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi")
        connection.close()

    reports = []
    for command in (["wrk"], [LOADLINE, "wrk"]):
        with fake_servers.FakeServer(once) as peer:
            done = subprocess.run(
                [*command, "-t1", "-c1", "-d1s", peer.url], cwd=loadline.folder, capture_output=True, text=True, timeout=30
            )
        assert int(re.search(r"(\d+) requests in", done.stdout)[1]) > 50
        reports.append(shape(done.stdout))
    assert reports[0] == reports[1]


@pytest.mark.parametrize("answers", [0, 3])
def test_dropped_connections_are_reopened_without_back_off(loadline, answers):
    """Loadline opens as many connections as wrk, within the noise of a busy machine."""

    def drops(connection):
        for _ in range(answers):
            if not connection.recv(65536):
                return
            connection.sendall(wire_recorder.ANSWER)
        connection.recv(65536)
        connection.close()

    def errors(*command):
        with fake_servers.FakeServer(drops) as peer:
            done = subprocess.run(
                [*command, "-t1", "-c2", "-d1s", peer.url], cwd=loadline.folder, capture_output=True, text=True, timeout=30
            )
        return int(re.search(r"read (\d+)", done.stdout)[1])

    # A back-off would show in every repetition; a busy machine slows one or the other.
    pairs = [(errors("wrk"), errors(LOADLINE, "wrk")) for _ in range(3)]
    assert any(ours > theirs / 5 for theirs, ours in pairs), pairs


def test_late_responses_count_as_timeouts(loadline):
    def slow(connection):
        while connection.recv(65536):
            time.sleep(1.5)
            connection.sendall(wire_recorder.ANSWER)

    for command in (["wrk"], [LOADLINE, "wrk"]):
        with fake_servers.FakeServer(slow) as peer:
            done = subprocess.run(
                [*command, "-t1", "-c1", "-d2s", "-T1s", peer.url], cwd=loadline.folder, capture_output=True, text=True, timeout=30
            )
        assert "  1 requests in" in done.stdout, command
        assert "timeout 1" in done.stdout, command
    assert "1 × answered after --timeout" in done.stderr


def test_rate_above_capacity_ends_with_its_duration(loadline, start_lab):
    lab = start_lab("sum", "work=20ms")
    run = loadline("wrk", "-t1", "-c4", "-d2s", "-R1000", "--latency", f"{lab.url}/api/sum")
    assert run.returncode == 0, run.stderr
    summary = loadline.summary()
    arrivals = summary["arrivals"]
    assert arrivals["planned"] == 2000
    assert arrivals["planned"] == arrivals["started"] + arrivals["skipped"] + arrivals["unsent"]
    # Four connections, 20 ms each: 400 at most. Unsent requests are not sent after the end.
    assert arrivals["started"] <= 404
    assert 0 <= arrivals["started"] - lab.stats()["answered"]["total"] <= 4
    assert summary["run"]["elapsed_ns"] < 4e9
    assert "of the planned load was never started" in run.stderr
