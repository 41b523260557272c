"""`traceparent` on requests: which ones carry it, and that the slow rows of a report name the traces that the service
received.
"""

import re
import threading

import fake_websocket
import pytest
from fake_servers import RecordingServer, Request

TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-01")
PLAN = """loadline: 1
target: {url}
load: {{ rate: 20/s, duration: 1s }}
http: {{ {http} }}
scenarios:
  - steps:
{steps}
"""
GET = "      - get: /orders"


def ids(request: Request) -> tuple[str, str]:
    found = TRACEPARENT.fullmatch(request.headers["traceparent"])
    assert found, request.headers["traceparent"]
    return found.groups()


def run(loadline, url: str, http: str, steps: str = GET, *flags: str):
    plan = loadline.write("plan.yml", PLAN.format(url=url, http=http, steps=steps))
    return loadline("run", plan, *flags)


def test_every_request_has_its_own_trace(loadline) -> None:
    with RecordingServer() as service:
        done = run(loadline, service.url, "trace-context: true")
    assert done.returncode == 0, done.stderr
    assert len(service.requests) == 20
    assert len({trace for trace, _ in map(ids, service.requests)}) == 20
    assert len({span for _, span in map(ids, service.requests)}) == 20
    traces = loadline.summary()["traces"]
    assert (traces["sampling"], traces["requests"], traces["share"]) == ("all requests", 20, 1.0)
    assert len(traces["slowest"]) == 20
    received = {ids(request) for request in service.requests}
    assert {(one["trace_id"], one["span_id"]) for one in traces["slowest"]} <= received


def test_slow_row_names_the_trace_that_the_service_received(loadline) -> None:
    held: list[Request] = []
    release = threading.Event()

    def answer(request: Request) -> tuple[int, dict[str, str], bytes]:
        # The sixth request is held until all others were answered.
        number = next(i for i, one in enumerate(service.requests) if one is request)
        if number == 5:
            held.append(request)
            release.wait(20)
        elif number == 19:
            release.set()
        return 200, {}, b""

    with RecordingServer(answer) as service:
        url = "trace-context: true, trace-url: 'https://tempo.example/t/{trace_id}?span={span_id}'"
        done = run(loadline, service.url, url, GET, "--verbose")
    assert done.returncode == 0, done.stderr
    trace, span = ids(held[0])
    slowest = max(loadline.summary()["traces"]["slowest"], key=lambda one: one["response_ns"])
    assert (slowest["trace_id"], slowest["span_id"], slowest["status"]) == (trace, span, 200)
    assert slowest["url"] == f"https://tempo.example/t/{trace}?span={span}"
    assert slowest["text"] == "GET /orders"
    assert f"trace {trace}" in " ".join(done.stdout.split())
    folder = loadline.folder / ".loadline/runs/last"
    assert slowest["url"] in (folder / "report.md").read_text()


def test_trace_of_a_failed_request_is_reported(loadline) -> None:
    with RecordingServer(lambda request: (503, {}, b"")) as service:
        done = run(loadline, service.url, "trace-context: true")
    first = loadline.summary()["errors"][0]["first"]
    assert first["trace"]["trace_id"] in {ids(request)[0] for request in service.requests}
    assert f"trace {first['trace']['trace_id']}" in done.stdout
    assert [one["reason"] for one in loadline.summary()["traces"]["slowest"]] == ["status 503"] * 20


@pytest.mark.parametrize(("which", "expected"), [("10/s", range(1, 12)), ("50%", range(150, 251))])
def test_part_of_the_requests_is_traced(loadline, which, expected) -> None:
    # Of 400 requests, 200 ± 50 are five standard deviations.
    rate = "20/s" if which == "10/s" else "400/s"
    with RecordingServer() as service:
        done = loadline("run", f"{service.url}/a", "--rate", rate, "--duration", "1s", f"--trace-context={which}")
    assert done.returncode == 0, done.stderr
    traced = [request for request in service.requests if "traceparent" in request.headers]
    assert len(traced) in expected
    assert loadline.summary()["traces"]["requests"] == len(traced)


def test_header_of_the_test_is_left_alone(loadline) -> None:
    own = "00-11111111111111111111111111111111-2222222222222222-01"
    steps = f"      - get: {{ url: /own, headers: {{ Traceparent: '{own}' }} }}\n{GET}"
    with RecordingServer() as service:
        done = run(loadline, service.url, "trace-context: true", steps, "--once")
    assert done.returncode == 0, done.stderr
    first, second = service.requests
    assert first.headers["traceparent"] == own
    assert ids(second)[0] != "1" * 32


def test_redirected_request_keeps_its_trace(loadline) -> None:
    def answer(request: Request) -> tuple[int, dict[str, str], bytes]:
        return (302, {"location": "/there"}, b"") if request.path == "/orders" else (200, {}, b"")

    with RecordingServer(answer) as service:
        done = run(loadline, service.url, "trace-context: true", GET, "--once")
    assert done.returncode == 0, done.stderr
    here, there = service.requests
    assert (here.path, there.path) == ("/orders", "/there")
    assert ids(here) == ids(there)


def test_cookies_and_bodies_stay_as_they_are(loadline) -> None:
    def answer(request: Request) -> tuple[int, dict[str, str], bytes]:
        return 200, {"set-cookie": "session=s1"}, b""

    steps = "      - post: { url: /a, json: { n: 1 } }\n      - post: { url: /b, json: { n: 2 } }"
    with RecordingServer(answer) as service:
        done = run(loadline, service.url, "trace-context: true", steps, "--once")
    assert done.returncode == 0, done.stderr
    assert [request.body for request in service.requests] == [b'{"n":1}', b'{"n":2}']
    assert service.requests[1].headers["cookie"] == "session=s1"
    assert ids(service.requests[0]) != ids(service.requests[1])


def test_websocket_upgrade_carries_a_trace(loadline) -> None:
    steps = "      - websocket: { connect: /chat }\n      - websocket: { close: 1000 }"
    with fake_websocket.WebSocketServer(fake_websocket.echo) as service:
        done = run(loadline, service.url, "trace-context: true", steps, "--once")
    assert done.returncode == 0, done.stderr
    assert TRACEPARENT.fullmatch(service.requests[0]["traceparent"])


def test_runs_without_the_setting_send_no_header(loadline) -> None:
    with RecordingServer() as service:
        done = run(loadline, service.url, "timeout: 5s", GET, "--once")
    assert done.returncode == 0, done.stderr
    assert "traceparent" not in service.requests[0].headers
    assert "traces" not in loadline.summary()


@pytest.mark.parametrize(
    ("http", "reason"),
    [
        ("trace-context: 0%", "trace-context: `0%` does not say which requests carry a trace context"),
        ("trace-context: often", "use all, a share such as 1%, or a rate such as 10/s"),
        ("trace-context: true, trace-url: 'tempo/{trace_id}'", "trace-url: `tempo/{trace_id}` is not an address of traces"),
        ("trace-context: true, trace-url: 'https://tempo.example/'", "{trace_id} where the id belongs"),
    ],
)
def test_unusable_settings_are_refused_with_their_place(loadline, http, reason) -> None:
    done = run(loadline, "http://127.0.0.1:9", http)
    assert done.returncode == 2
    assert re.search(r"plan\.yml:4:\d+: ", done.stderr)
    assert reason in done.stderr


def test_address_needs_traced_requests(loadline) -> None:
    done = loadline("run", "http://127.0.0.1:9/", "--trace-url", "https://tempo.example/{trace_id}")
    assert done.returncode == 2
    assert "--trace-url needs traced requests: add --trace-context" in done.stderr


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("script.lua", "wrk.method = 'GET'\n"),
        ("locustfile.py", "from locust import HttpUser\n"),
        ("script.js", "import http from 'k6/http';\nexport default () => {};\n"),
    ],
)
def test_other_protocols_refuse_the_flag(loadline, name, text) -> None:
    with RecordingServer() as service:
        target = [] if name.endswith(".js") else ["--target", service.url]
        done = loadline("run", loadline.write(name, text), *target, "--trace-context")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "--trace-context" in done.stderr
    assert not any("traceparent" in request.headers for request in service.requests)


def test_artillery_scripts_choose_prefix_and_flag(loadline) -> None:
    script = """
config:
  target: {url}
  http: {{ distributedTracing: {setting} }}
  phases: [ {{ duration: 1, arrivalCount: 2 }} ]
scenarios: [ {{ flow: [ {{ get: {{ url: /a }} }} ] }} ]
"""
    for setting, pattern in [
        ("true", r"00-a9[0-9a-f]{30}-[0-9a-f]{16}-01"),
        ("{ sampled: false, traceIdPrefix: b7 }", r"00-b7[0-9a-f]{30}-[0-9a-f]{16}-00"),
        ("{ enabled: false }", None),
    ]:
        with RecordingServer() as service:
            done = loadline("run", loadline.write("script.yml", script.format(url=service.url, setting=setting)))
        assert done.returncode == 0, done.stderr
        assert len(service.requests) == 2
        for request in service.requests:
            header = request.headers.get("traceparent")
            assert header is None if pattern is None else re.fullmatch(pattern, header)
