"""wrk scripts on several nodes: connections and rate are divided, and `done` runs once for the
whole run.
"""

from __future__ import annotations

import json
import re
import time

import pytest
from fake_servers import RecordingServer

SCRIPT = """\
request = function() return wrk.format("POST", "/script", nil, "x") end
init = function() print("init") end
done = function(summary) print("done", summary.requests) end
"""

ARRIVALS = ("planned", "started", "completed", "unsent")


@pytest.fixture
def script(loadline):
    loadline.write("post.lua", SCRIPT)


def count_script_requests(peer: RecordingServer) -> int:
    return sum(request.path == "/script" for request in list(peer.requests))


@pytest.mark.parametrize("arrivals", ["even", "poisson"])
def test_nodes_divide_the_rate_of_a_script(loadline, script, arrivals):
    with RecordingServer() as peer:
        same = ["run", "post.lua", "--target", peer.url, "--rate", "101.3/s", "--duration", "2s", "--arrivals", arrivals, "--seed", 7]
        ran = loadline(*same, "--connections", 7, "--on", "local", "--nodes", 2, "--json", "all.json")
        assert ran.returncode == 0, ran.stdout + ran.stderr
        sent = count_script_requests(peer)
        alone = loadline(*same, "--connections", 7, "--json", "one.json")
        assert alone.returncode == 0, alone.stdout + alone.stderr
        assert count_script_requests(peer) == 2 * sent
    of_many, of_one = (json.loads((loadline.folder / name).read_text()) for name in ("all.json", "one.json"))
    for ledger in ARRIVALS:
        assert of_many["arrivals"][ledger] == of_one["arrivals"][ledger], ledger
    assert of_many["arrivals"]["planned"] == of_many["arrivals"]["completed"] == of_many["all"]["count"] == sent
    each = [node["requests"] for node in of_many["nodes"]]
    assert sum(each) == sent
    assert abs(each[0] - each[1]) <= 1
    # Once for the whole run; nodes print nothing.
    assert re.findall(r"^done\t(\d+)$", ran.stdout, re.M) == [str(sent)]
    assert "done" not in ran.stderr


def test_nodes_divide_connections_of_a_script(loadline, script):
    with RecordingServer() as peer:
        same = ["run", "post.lua", "--target", peer.url, "--connections", 5, "--duration", "1s"]
        ran = loadline(*same, "--on", "local", "--nodes", 3, "--json", "all.json")
        assert ran.returncode == 0, ran.stdout + ran.stderr
        sent = count_script_requests(peer)
    result = json.loads((loadline.folder / "all.json").read_text())
    # At most one request per connection was still in flight.
    assert result["requests"]["issued"] - 5 <= sent <= result["requests"]["issued"]
    assert all(node["requests"] > 0 for node in result["nodes"])


def test_script_parts_without_conductor_are_merged(loadline, script):
    with RecordingServer() as peer:
        load = ["--rate", "60/s", "--duration", "2s", "--connections", 5, "--seed", 5]
        same = ["run", "post.lua", "--target", peer.url, *load, "--start-at", f"{time.time() + 5:.3f}"]
        started = [loadline.start(*same, "--shard", f"{n + 1}/2", "--runs", f"part-{n}") for n in range(2)]
        for process in started:
            out, err = process.communicate(timeout=60)
            assert process.returncode == 0, out + err
            assert "the script's done() is not called" in err
            assert "done\t" not in out
        sent = count_script_requests(peer)
    ran = loadline("merge", *(loadline.folder / f"part-{n}/last" for n in range(2)), "--json", "merged.json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    merged = json.loads((loadline.folder / "merged.json").read_text())
    assert merged["arrivals"]["planned"] == merged["arrivals"]["completed"] == sent == 120


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--connections", 2], "2 connections cannot be divided among 3 processes: use fewer processes, or more connections"),
        (
            ["--connections", 4, "--workers", 2, "--rate", "10/s"],
            "4 connections cannot be divided among 3 processes of 2 workers each: use fewer processes or workers, or more connections",
        ),
    ],
)
def test_node_without_a_connection_is_refused(loadline, script, flags, message):
    with RecordingServer() as peer:
        ran = loadline("run", "post.lua", "--target", peer.url, "--duration", "1s", *flags, "--on", "local", "--nodes", 3)
        assert count_script_requests(peer) == 0
    assert ran.returncode == 3
    assert message in ran.stderr
    assert len(ran.stderr.strip().splitlines()) <= 2, ran.stderr


def test_script_that_fails_on_a_node_ends_the_run(loadline):
    loadline.write(
        "dies.lua",
        "local n = 0\nrequest = function()\n  n = n + 1\n  if n > 30 then error('enough') end\n"
        "  return wrk.format()\nend\ndone = function() print('done') end\n",
    )
    with RecordingServer() as peer:
        ran = loadline("run", "dies.lua", "--target", peer.url, "--rate", "100/s", "--duration", "30s", "--on", "local")
    assert ran.returncode == 3, ran.stdout + ran.stderr
    assert "the script failed" in ran.stderr
    assert not re.search("^done", ran.stdout, re.M)
