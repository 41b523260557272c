"""Work that never ends, such as a backtracking expression or a looping hook, costs neither the
record nor Ctrl-C.
"""

import json
import signal

import fake_servers
from conftest import wait_until

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
# Thread 0 loops in its first response forever: the loop is compiled, so no debug hook runs.
SCRIPT = """
threads = 0
function setup(thread) thread:set("number", threads); threads = threads + 1 end
function response() if number == 0 then io.stderr:write("stuck\\n"); while true do end end end
"""


def whole_intervals(record) -> int:
    try:
        lines = (record / "counters.jsonl").read_text().splitlines()
    except FileNotFoundError:
        return 0
    return sum('"end":true' in line for line in lines)


def test_endlessly_backtracking_capture_fails(loadline) -> None:
    body = b"a" * 64 + b"!"
    plan = """
loadline: 1
target: {}
load: {{rate: 10/s, duration: 500ms}}
steps: [{{get: {{url: /, capture: {{token: {{regexp: "(a+)+$"}}}}}}}}]
"""
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with fake_servers.FakeServer(fake_servers.answer_with(answer)) as peer:
        loadline("run", loadline.write("plan.yml", plan.format(peer.url)))
    summary = loadline.summary()
    assert summary["requests"]["failed"] == 5
    details = [row["first"]["detail"] for row in summary["errors"]]
    assert any("regular expression /(a+)+$/ stopped after" in text for text in details), summary["errors"]


def test_endlessly_backtracking_condition_fails_its_step(loadline) -> None:
    script = """
config: {{target: "{}", variables: {{text: ["{}!"]}}, phases: [{{duration: 1, arrivalCount: 2}}]}}
scenarios: [{{flow: [{{get: {{url: /, ifTrue: "text ~= \\"(a+)+$\\""}}}}]}}]
"""
    with fake_servers.FakeServer(fake_servers.answer_with(ANSWER)) as peer:
        loadline("run", loadline.write("test.yml", script.format(peer.url, "a" * 64)))
    summary = loadline.summary()
    assert summary["requests"]["none_by_class"] == {"generator": 2}
    assert "stopped after" in json.dumps(summary["errors"])


def test_looping_hook_is_named_and_other_workers_are_recorded(loadline) -> None:
    script = loadline.write("loop.lua", SCRIPT)
    with fake_servers.FakeServer(fake_servers.answer_with(ANSWER)) as peer:
        # A worker is abandoned after five seconds in which its thread does not wait for a CPU.
        ended = loadline("wrk", "-t2", "-c2", "-d10s", "-s", script, peer.url, timeout=150)
    assert ended.returncode == 1
    assert "worker 0 hung in the script's `response` and was abandoned" in ended.stderr
    summary = loadline.summary()
    assert summary["run"]["state"] == "interrupted"
    assert summary["requests"]["ok"] > 0
    assert whole_intervals(loadline.folder / ".loadline/runs/last") >= 3
    assert "worker 0 hung in the script's `response` and was abandoned" in loadline("report").stdout


def test_hung_worker_is_named_as_the_reason_of_an_early_end(loadline) -> None:
    with fake_servers.FakeServer(fake_servers.answer_with(ANSWER)) as peer:
        loadline("wrk", "-t1", "-c1", "-d10s", "-s", loadline.write("loop.lua", SCRIPT), peer.url, timeout=150)
    notes = loadline.summary()["notes"]
    said = "the run ended early (worker 0, which hung in the script's `response`): planned arrivals"
    assert any(note.startswith(said) for note in notes), notes


def test_second_signal_ends_a_run_with_a_hung_worker(loadline) -> None:
    script = loadline.write("loop.lua", SCRIPT)
    with fake_servers.FakeServer(fake_servers.answer_with(ANSWER)) as peer:
        run = loadline.start("wrk", "-t2", "-c2", "-d60s", "-s", script, peer.url)
        for line in run.stderr:
            if "stuck" in line:
                break
        run.send_signal(signal.SIGINT)
        run.send_signal(signal.SIGTERM)
        _, err = run.communicate(timeout=30)
    assert "worker 0 hung in the script's `response` and was abandoned" in err
    assert loadline.summary()["run"]["state"] == "interrupted"


def test_third_signal_ends_the_process_immediately(loadline) -> None:
    script = loadline.write("done.lua", 'function done() io.stderr:write("in done\\n"); while true do end end')
    with fake_servers.FakeServer(fake_servers.answer_with(ANSWER)) as peer:
        run = loadline.start("wrk", "-t1", "-c1", "-d1s", "-s", script, peer.url)
        for line in run.stderr:
            if "in done" in line:
                break
        for number in (signal.SIGINT, signal.SIGTERM):
            run.send_signal(number)
        # Pending signals of one kind merge into one.
        run.send_signal(signal.SIGHUP)
        out, err = run.communicate(timeout=30)
    assert run.returncode in (128 + signal.SIGINT, 128 + signal.SIGTERM, 128 + signal.SIGHUP)
    assert "stopped immediately; the measurements so far are in" in err
    assert loadline("report").returncode == 0


def test_sighup_ends_in_a_report(loadline) -> None:
    record = loadline.folder / ".loadline/runs/last"
    with fake_servers.FakeServer(fake_servers.answer_with(ANSWER)) as peer:
        run = loadline.start("run", peer.url, "--rate", "20/s", "--duration", "60s")
        wait_until(lambda: whole_intervals(record) >= 1, "an interval")
        run.send_signal(signal.SIGHUP)
        out, err = run.communicate(timeout=30)
    assert run.returncode == 128 + signal.SIGHUP, err
    assert "SIGHUP" in out
    summary = loadline.summary()
    assert summary["run"]["state"] == "interrupted"
    assert summary["requests"]["ok"] > 0


def test_run_with_ignored_sighup_continues(loadline) -> None:
    record = loadline.folder / ".loadline/runs/last"

    def ignore_sighup() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with fake_servers.FakeServer(fake_servers.answer_with(ANSWER)) as peer:
        run = loadline.start("run", peer.url, "--rate", "20/s", "--duration", "2s", preexec_fn=ignore_sighup)
        wait_until(lambda: (record / "manifest.json").exists(), "its record")
        run.send_signal(signal.SIGHUP)
        _, err = run.communicate(timeout=30)
    assert run.returncode < 128, err
    assert loadline.summary()["run"]["state"] == "complete"
