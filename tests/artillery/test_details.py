"""Details in which scripts must behave as in Artillery: names, cookies, repeated headers, and exit
codes.
"""

import json
import time

import fake_servers

SCRIPT = """
config:
  target: {url}/api
  phases: [{{duration: 1, arrivalCount: 1}}{pause}]
  plugins: {{metrics-by-endpoint: {{}}, ensure: {{}}}}
  ensure: {{thresholds: [{{"plugins.metrics-by-endpoint.response_time./api/next.p99": 10000}}]}}
scenarios:
  - flow:
      - get: {{url: /set, capture: [{{header: set-cookie, as: c}}, {{header: x-multi, as: m}}, {{header: server, as: s}}]}}
      - get:
          url: /next
          headers: {{x-a: "{{{{ m }}}}|{{{{ c }}}}|{{{{ s }}}}", cookie: "own=1"}}
          cookie: {{x: "a;b"}}
{after}
"""


class RepeatedHeaders(dict):
    """Headers, some of which occur twice."""

    def items(self):
        for name, values in super().items():
            for value in values:
                yield name, value


def reply(request):
    if request.path != "/api/set":
        return 200, {}, b"{}"
    return (
        200,
        RepeatedHeaders({"set-cookie": ["a=1", "b=2; Path=/"], "x-multi": ["one", "two"], "server": ["first", "second"]}),
        b"{}",
    )


def run(loadline, pause: str = "", after: str = "", code: int = 0):
    with fake_servers.RecordingServer(reply) as peer:
        script = loadline.write("s.yml", SCRIPT.format(url=peer.url, pause=pause, after=after))
        done = loadline("artillery", "run", script, "-o", "out.json")
    assert done.returncode == code, done.stdout + done.stderr
    return peer, done


def test_endpoint_name_includes_the_path_of_the_target(loadline):
    _, done = run(loadline)
    assert "plugins.metrics-by-endpoint./api/next.codes.200: " in done.stdout
    assert "ok: plugins.metrics-by-endpoint.response_time./api/next.p99 < 10000" in done.stdout


def test_repeated_headers_become_a_list_or_are_joined(loadline):
    peer, _ = run(loadline)
    assert peer.requests[1].headers["x-a"] == 'one, two|["a=1","b=2; Path=/"]|first'


def test_step_cookie_and_jar_share_one_header(loadline):
    peer, _ = run(loadline)
    # The server keeps the last of several headers with one name; neither is the step's own.
    assert sorted(peer.requests[1].headers["cookie"].split("; ")) == ["a=1", "b=2", "x=a"]
    heads = [line for line in peer.lines if "own=1" in line]
    assert not heads


def test_pause_at_the_end_is_waited_for(loadline):
    begun = time.monotonic()
    _, done = run(loadline, pause=", {pause: 2}")
    assert time.monotonic() - begun >= 3
    assert "Phase completed: unnamed (index: 1, duration: 2s)" in done.stdout


def test_failing_after_fails_the_test(loadline):
    after = "after: {flow: [{get: {url: /after, capture: [{json: $.no, as: z, strict: true}]}}]}"
    peer, done = run(loadline, after=after, code=1)
    assert peer.lines[-1] == "GET /api/after"
    assert "`after` failed: Failed capture or match" in done.stderr
    # Everything is printed and written before the exit.
    assert json.loads((loadline.folder / "out.json").read_text())["aggregate"]["counters"]["vusers.completed"] == 1


def test_wrong_command_line_exits_with_artillerys_code(loadline):
    assert loadline("artillery", "run", "--nonsense", "s.yml").returncode == 1
    assert loadline("artillery", "run").returncode == 1
    assert loadline("run", "--nonsense").returncode == 2


def test_cookie_with_invalid_characters_is_an_error(loadline):
    with fake_servers.RecordingServer() as peer:
        text = (
            f"config: {{target: '{peer.url}', phases: [{{duration: 1, arrivalCount: 1}}]}}\n"
            "scenarios: [{flow: [{get: {url: /, cookie: {y: '€'}}}]}]\n"
        )
        loadline("artillery", "run", loadline.write("s.yml", text), "-o", "out.json")
    counters = json.loads((loadline.folder / "out.json").read_text())["aggregate"]["counters"]
    assert counters["errors.ERR_INVALID_CHAR"] == 1
    assert not peer.requests


ENSURE = """
config:
  target: {url}
  phases: [{{duration: 1, arrivalCount: 2}}]
  plugins: {{ensure: {{}}}}
  ensure:
    thresholds: [{{http.requests: 2}}]
    conditions: [{{expression: "vusers.failed == 0"}}, {{expression: "vusers.failed == 1", strict: false}}]
scenarios: [{{flow: [{{get: {{url: /}}}}]}}]
"""


def test_reports_show_the_checks_of_ensure(loadline):
    with fake_servers.RecordingServer() as server:
        loadline.write("script.yml", ENSURE.format(url=server.url))
        assert loadline("artillery", "run", "script.yml").returncode == 1
    summary = loadline.summary()
    criteria = [(row["text"], row["judgement"], row["measured"]) for row in summary["criteria"]]
    assert criteria == [("vusers.failed == 0", "PASS", None), ("http.requests < 2", "FAIL", "2")]
    assert "an optional check of the script is not met: vusers.failed == 1" in summary["notes"]
