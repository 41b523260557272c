"""Memory is bounded for responses, waiting users and tables, and a drain ends in time."""

import resource
import subprocess
import time

import fake_servers
import pytest
from conftest import LOADLINE
from peak_memory import peak_mb

pytestmark = pytest.mark.alone

SILENT = """
loadline: 1
target: {}
load: {{rate: 20000/s, duration: 2s}}
steps: [{{get: /}}]
"""


def test_waiting_users_are_bounded_and_the_drain_ends(loadline) -> None:
    plan = loadline.write("plan.yml", SILENT)
    with fake_servers.FakeServer(fake_servers.never_answer) as peer:
        plan.write_text(SILENT.format(peer.url))
        begun = time.monotonic()
        ended, peak = peak_mb(loadline, "run", plan, "--memory", "24MB", "--drain", "1s")
        took = time.monotonic() - begun
    summary = loadline.summary()
    assert summary["arrivals"]["started"] <= 4096
    assert summary["arrivals"]["unsent"] > 0
    assert summary["requests"]["adds_up"]
    assert any("waiting users used up the memory limit" in note for note in summary["notes"]), summary["notes"]
    assert peak < 150
    # Two seconds of load and one of drain; the rest is for the report.
    assert took < 25, ended.stderr


def test_large_responses_are_bounded_and_not_server_failures(loadline) -> None:
    body = b"[" + b"1," * (1 << 20) + b"1]"
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    plan = """
loadline: 1
target: {}
load: {{rate: 20/s, duration: 200ms}}
steps: [{{get: {{url: /, capture: {{first: "$[0]"}}}}}}]
"""
    with fake_servers.FakeServer(fake_servers.answer_with(answer)) as peer:
        path = loadline.write("plan.yml", plan.format(peer.url))
        for memory in ("1MB", "64MB"):
            _, peak = peak_mb(loadline, "run", path, "--memory", memory)
            summary = loadline.summary()
            assert summary["requests"]["none_by_class"] == {"generator": 4}, memory
            assert "memory limit reached (--memory)" in summary["errors"][0]["reason"]
            assert peak < 120
        loadline("run", path, "--memory", "2GB")
        assert loadline.summary()["requests"]["ok"] == 4


def test_memory_demand_of_the_plan_is_reported_before_the_run(loadline) -> None:
    loadline.write("many.csv", "id,name\n" + "1,x\n" * 200_000)
    plan = "loadline: 1\ntarget: http://127.0.0.1:1\ncsv: [{file: many.csv}]\n"
    plan += "load: {rate: 1/s, duration: 1s}\nsteps: [{get: '/{{ id }}'}]\n"
    ended = loadline("run", loadline.write("plan.yml", plan), "--memory", "8MB")
    assert ended.returncode == 2
    assert "many.csv: row " in ended.stderr
    assert "raise --memory" in ended.stderr
    ended = loadline("run", "http://127.0.0.1:1", "--connections", "5000", "--memory", "8MB")
    assert ended.returncode == 2
    assert "5000 users need about 29 MB of memory, but the limit is 8 MB" in ended.stderr
    assert loadline("run", "http://127.0.0.1:1", "--memory", "7").returncode == 2


def test_low_limit_on_address_space_is_refused_before_the_run(loadline) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20))

    arguments = [LOADLINE, "run", "http://127.0.0.1:1", "--duration", "1s", "--workers", "16"]
    ended = subprocess.run(arguments, cwd=loadline.folder, preexec_fn=limit, capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode == 3
    assert ended.stderr == (
        "loadline: the address space is limited to 200 MB (`ulimit -v`), but a run with --workers 16 needs 384 MB: "
        "increase the limit, or use fewer workers\n"
    )
