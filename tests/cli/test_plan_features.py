"""Plan features in runs: planned ends, changing users, conditions, choices, functions."""

import json
import re

from fake_servers import RecordingServer

# A dummy token, which the lab requires.
TOKEN = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJzaG9ydGVuZXIifQ.hWd5e270NJUcHqXJCy0BKP8k7ISozh_y8tQsbsWpHgs"


def run_plan(loadline, text, *flags):
    """Runs a plan. Returns the process and the summary."""
    run = loadline("run", loadline.write("plan.yml", text), "--json", "summary.json", *flags)
    return run, json.loads((loadline.folder / "summary.json").read_text())


CUT = """loadline: 1
target: lab:shortener
max-duration: 1500ms
load: [ { rate: 20/s, duration: 1s }, { name: long, rate: 40/s, duration: 10m }, { rate: 1/s, duration: 1s } ]
steps: [ { get: { url: /never, expect: 404 } } ]
"""


def test_max_duration_cuts_the_load(loadline):
    run, summary = run_plan(loadline, CUT)
    # Only counts are checked, so the machine may be busy.
    assert run.returncode == 0, run.stderr
    arrivals = summary["arrivals"]
    assert (arrivals["planned"], arrivals["started"] + arrivals["unsent"], arrivals["adds_up"]) == (40, 40, True)
    assert [phase["end_ns"] for phase in summary["phases"]] == [1_000_000_000, 1_500_000_000]
    assert summary["run"]["ended_by"] is None
    assert summary["run"]["load"].endswith("; ended by max-duration after 1.5 s of 10 min 2 s")
    assert "ended by max-duration" in " ".join(run.stdout.split())


RAMP = """loadline: 1
target: lab:shortener
load: [ { name: come, users: { from: 0, to: 4 }, duration: 2s }, { name: go, users: { from: 4, to: 0 }, duration: 2s } ]
steps: [ { get: { url: /never, expect: 404 } }, { think: 100ms } ]
"""


def test_ramped_users_start_and_stop(loadline):
    run, summary = run_plan(loadline, RAMP)
    assert run.returncode == 0, run.stderr
    assert summary["run"]["load"].startswith("closed loop, 0 to 4 users over 2 s, then 4 to 0 users over 2 s")
    assert [(phase["name"], phase["end_ns"]) for phase in summary["phases"]] == [("come", 2_000_000_000), ("go", 4_000_000_000)]
    # Users 0 to 3 are active for 4, 3, 2 and 1 seconds, and each sends at most ten requests per
    # second.
    assert summary["users"]["max"] <= 4
    assert 0 < summary["all"]["count"] <= 100 + 4
    assert summary["arrivals"]["started"] == summary["arrivals"]["completed"] == summary["all"]["count"]
    shown = loadline("plan", "plan.yml")
    assert "4 users at most (the number changes) for 4 s" in shown.stdout


FLOW = """loadline: 1
target: lab:shortener
variables: { n: 2 }
http: { headers: { authorization: 'Bearer TOKEN' } }
load: { count: 400, duration: 2s }
steps:
  - post:
      url: /actions/short-urls
      json: { expires: '2099-01-01T00:00:00-07:00', url: 'https://www.example.org/x' }
      capture: { short: $.shortUrl }
  - { if: n > 2, get: /never }
  - if: n == 2 and short
    steps:
      - get: { url: '{{ short }}', name: Short, redirects: false }
  - choose:
      - { weight: 3, steps: [ { get: { url: /often, expect: 404 } } ] }
      - { weight: 1, steps: [ { get: { url: /seldom, expect: 404 } } ] }
""".replace("TOKEN", TOKEN)


def test_conditions_and_choices_select_steps(loadline):
    run, summary = run_plan(loadline, FLOW, "--seed", "7")
    assert run.returncode == 0, run.stderr
    counts = {row["text"]: row["count"] for row in summary["labels"]}
    assert (counts["POST /actions/short-urls"], counts["GET Short"]) == (400, 400)
    # A skipped step is not counted, in particular not as a failure.
    assert counts.get("GET /never", 0) == 0
    assert summary["all"]["errors"] == 0
    assert counts["GET /often"] + counts["GET /seldom"] == 400
    # Seven standard deviations.
    assert abs(counts["GET /seldom"] - 100) < 60
    again = loadline("run", "plan.yml", "--seed", "7", "--json", "again.json")
    assert again.returncode == 0
    same = {row["text"]: row["count"] for row in json.loads((loadline.folder / "again.json").read_text())["labels"]}
    assert same == counts

    shown = loadline("run", "plan.yml", "--once").stdout
    assert "if n > 2  skipped: its condition is not true" in shown
    assert "if n == 2 and short: true" in shown
    assert re.search(r"choose: branch [12] of 2, weight [13] of 4", shown), shown
    profile = loadline("plan", "plan.yml").stdout
    assert "are counted once" in profile


def test_flow_error_is_reported_at_its_place(loadline):
    wrong = FLOW.replace("weight: 3", "weight: 0").replace("n > 2", "n >")
    run = loadline("run", loadline.write("plan.yml", wrong))
    assert run.returncode == 2
    assert "plan.yml:11:14: `if`: a value is missing here" in run.stderr
    assert "plan.yml:16:19: `weight: 0` must be a whole number, 1 or more" in run.stderr


TYPED = """loadline: 1
target: URL
load: { count: 20, duration: 200ms }
steps:
  - post:
      url: /
      json: { age: '{{ $randomNumber(18, 90) }}', room: 'B{{ $randomNumber(1, 9) }}', all: [ '{{ $randomNumber(1, 1) }}' ] }
"""


def test_drawn_number_alone_in_a_json_value_is_a_number(loadline):
    with RecordingServer() as server:
        run, _ = run_plan(loadline, TYPED.replace("URL", server.url))
        bodies = [json.loads(request.body) for request in server.requests]
    assert run.returncode == 0, run.stderr
    assert len(bodies) == 20
    for body in bodies:
        assert type(body["age"]) is int
        assert 18 <= body["age"] <= 90
        assert re.fullmatch("B[1-9]", body["room"])
        assert body["all"] == [1]
