"""Work that never ends - an expression that backtracks, a hook that loops - costs neither the record nor the user's Ctrl-C."""

import json
import signal

import peers
from conftest import until

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
# Thread 0 is stuck in its first answer, for good: the loop is compiled, and no debug hook is ever looked at again.
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


def test_an_expression_that_backtracks_for_ever_is_a_failed_capture(loadline) -> None:
    body = b"a" * 64 + b"!"
    plan = """
loadline: 1
target: {}
load: {{rate: 10/s, duration: 500ms}}
steps: [{{get: {{url: /, capture: {{token: {{regexp: "(a+)+$"}}}}}}}}]
"""
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with peers.Peer(peers.answer(answer)) as peer:
        loadline("run", loadline.write("plan.yml", plan.format(peer.url)))
    summary = loadline.summary()
    assert summary["requests"]["failed"] == 5
    told = [row["first"]["detail"] for row in summary["errors"]]
    assert any("regular expression /(a+)+$/ given up after" in text for text in told), summary["errors"]


def test_a_condition_that_backtracks_for_ever_fails_its_step(loadline) -> None:
    script = """
config: {{target: "{}", variables: {{text: ["{}!"]}}, phases: [{{duration: 1, arrivalCount: 2}}]}}
scenarios: [{{flow: [{{get: {{url: /, ifTrue: "text ~= \\"(a+)+$\\""}}}}]}}]
"""
    with peers.Peer(peers.answer(ANSWER)) as peer:
        loadline("run", loadline.write("test.yml", script.format(peer.url, "a" * 64)))
    summary = loadline.summary()
    assert summary["requests"]["none_by_class"] == {"generator": 2}
    assert "given up after" in json.dumps(summary["errors"])


def test_a_hook_that_loops_is_named_and_the_others_are_recorded(loadline) -> None:
    script = loadline.write("loop.lua", SCRIPT)
    with peers.Peer(peers.answer(ANSWER)) as peer:
        ended = loadline("wrk", "-t2", "-c2", "-d10s", "-s", script, peer.url)
    assert ended.returncode == 1
    assert "worker 0 was given up: it did not come back from the script's `response`" in ended.stderr
    summary = loadline.summary()
    assert summary["run"]["state"] == "interrupted"
    assert summary["requests"]["ok"] > 0
    assert whole_intervals(loadline.folder / ".loadline/runs/last") >= 3
    assert "worker 0 was given up" in loadline("report").stdout


def test_who_ended_a_run_of_one_worker_is_told_in_a_sentence(loadline) -> None:
    with peers.Peer(peers.answer(ANSWER)) as peer:
        loadline("wrk", "-t1", "-c1", "-d10s", "-s", loadline.write("loop.lua", SCRIPT), peer.url)
    notes = loadline.summary()["notes"]
    said = "the run ended early (worker 0, which did not come back from the script's `response`): planned arrivals"
    assert any(note.startswith(said) for note in notes), notes


def test_the_second_signal_ends_a_run_with_a_stuck_worker(loadline) -> None:
    script = loadline.write("loop.lua", SCRIPT)
    with peers.Peer(peers.answer(ANSWER)) as peer:
        run = loadline.start("wrk", "-t2", "-c2", "-d60s", "-s", script, peer.url)
        for line in run.stderr:
            if "stuck" in line:
                break
        run.send_signal(signal.SIGINT)
        run.send_signal(signal.SIGTERM)
        _, err = run.communicate(timeout=30)
    assert "worker 0 was given up" in err
    assert loadline.summary()["run"]["state"] == "interrupted"


def test_the_third_signal_ends_everything_at_once(loadline) -> None:
    script = loadline.write("done.lua", 'function done() io.stderr:write("in done\\n"); while true do end end')
    with peers.Peer(peers.answer(ANSWER)) as peer:
        run = loadline.start("wrk", "-t1", "-c1", "-d1s", "-s", script, peer.url)
        for line in run.stderr:
            if "in done" in line:
                break
        for number in (signal.SIGINT, signal.SIGTERM):
            run.send_signal(number)
        # Signals of one number that are still pending become one.
        run.send_signal(signal.SIGHUP)
        out, err = run.communicate(timeout=30)
    assert run.returncode in (128 + signal.SIGINT, 128 + signal.SIGTERM, 128 + signal.SIGHUP)
    assert "ended at once; what was measured until then is in" in err
    assert loadline("report").returncode == 0


def test_hanging_up_ends_in_a_report(loadline) -> None:
    record = loadline.folder / ".loadline/runs/last"
    with peers.Peer(peers.answer(ANSWER)) as peer:
        run = loadline.start("run", peer.url, "--rate", "20/s", "--duration", "60s")
        until(lambda: whole_intervals(record) >= 1, "an interval")
        run.send_signal(signal.SIGHUP)
        out, err = run.communicate(timeout=30)
    assert run.returncode == 128 + signal.SIGHUP, err
    assert "SIGHUP" in out
    summary = loadline.summary()
    assert summary["run"]["state"] == "interrupted"
    assert summary["requests"]["ok"] > 0


def test_who_was_started_to_outlive_its_terminal_does(loadline) -> None:
    record = loadline.folder / ".loadline/runs/last"

    def ignore_hanging_up() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with peers.Peer(peers.answer(ANSWER)) as peer:
        run = loadline.start("run", peer.url, "--rate", "20/s", "--duration", "2s", preexec_fn=ignore_hanging_up)
        until(lambda: (record / "manifest.json").exists(), "its record")
        run.send_signal(signal.SIGHUP)
        _, err = run.communicate(timeout=30)
    assert run.returncode < 128, err
    assert loadline.summary()["run"]["state"] == "complete"
