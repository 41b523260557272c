"""The first bottleneck is named for a service that reports its limits, and never guessed."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

# The instance reports a pool of eight threads, its queue, and the dependency the threads wait for.
FULL = {"pool_capacity": 0, "max_threads": 8, "backlog": 5}
CALM = {"pool_capacity": 5, "max_threads": 8, "backlog": 0}
MORE = """# TYPE app_threads_waiting gauge
app_threads_waiting{for="ledger"} 7.5
# TYPE app_cpu_ratio gauge
app_cpu_ratio 0.2
"""


@pytest.fixture
def service():
    """Answers immediately and reports the figures that a test sets."""
    figures = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            texts = {"/stats": json.dumps(figures), "/metrics": MORE}
            body = texts.get(self.path, "ok").encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", figures
    server.shutdown()
    server.server_close()


def saturation(loadline, url: str, *flags: object) -> tuple[dict, str]:
    run = loadline("run", url, "--rate", "5/s", "--duration", "10s", *flags)
    assert run.returncode == 0, run.stdout + run.stderr
    return loadline.summary()["saturation"], run.stdout


def test_full_pool_is_named_with_its_cause(loadline, service):
    url, figures = service
    figures.update(FULL)
    found, shown = saturation(loadline, url, "--server", f"puma={url}/stats", "--server", f"app={url}/metrics")
    assert found["first"] == 0
    first = found["reached"][0]
    assert (first["resource"], first["source"], first["instances"], first["all_instances"]) == ("thread pool", "puma", 1, 1)
    assert first["cause"] == "held by ledger: 7.5 of 8 threads wait for it, while the CPU is at 20.0 %"
    assert "First resource to saturate: thread pool (puma: 0 of 8 left" in shown.replace("\n  ", " ")
    report = (loadline.folder / ".loadline/runs/last/report.md").read_text()
    assert "## What saturated first" in report
    assert "| thread pool (puma) |" in report


def test_pool_with_free_threads_is_not_named(loadline, service):
    url, figures = service
    figures.update(CALM)
    found, shown = saturation(loadline, url, "--server", f"puma={url}/stats")
    assert (found["first"], found["reached"]) == (None, [])
    assert found["sentence"] == "No measured resource reached its limit: thread pool (puma)."
    assert "saturated" not in shown


def test_no_bottleneck_is_reported_without_a_measured_service(loadline, service):
    url, _ = service
    run = loadline("run", url, "--rate", "5/s", "--duration", "1s")
    assert run.returncode == 0, run.stderr
    assert loadline.summary()["saturation"] is None


PUMA = """# TYPE puma_max_threads gauge
puma_max_threads{{index="0"}} 16
puma_max_threads{{index="1"}} 16
# TYPE puma_pool_capacity gauge
puma_pool_capacity{{index="0"}} 0
puma_pool_capacity{{index="1"}} 0
# TYPE puma_backlog gauge
puma_backlog{{index="0"}} {backlog}
puma_backlog{{index="1"}} {backlog}
# TYPE permits gauge
permits 4
# TYPE permits_taken gauge
permits_taken 4
"""


@pytest.fixture
def exporter():
    """Metrics of a Puma cluster without a free thread, and of an application's own pool."""
    backlog = [0]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            body = PUMA.format(backlog=backlog[0]).encode()
            self.send_response(200)
            self.send_header("content-type", "text/plain; version=0.0.4")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", backlog
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("waiting", [0, 5])
def test_pool_without_free_threads_is_full_with_and_without_backlog(loadline, exporter, waiting):
    url, backlog = exporter
    backlog[0] = waiting
    run = loadline("run", url, "--rate", "5/s", "--duration", "14s", "--server", f"puma={url}/metrics")
    assert run.returncode == 0, run.stdout + run.stderr
    found = loadline.summary()["saturation"]
    assert found["reached"][0]["resource"] == "thread pool"
    words = ", and requests wait" if waiting else ""
    assert found["reached"][0]["limit"] == f"0 of 32 left{words}"


def test_declared_pool_is_watched_and_missing_metrics_are_named(loadline, exporter):
    url, _ = exporter
    plan = f"""loadline: 1
target: {url}
load: {{ rate: 5/s, duration: 14s }}
server:
  app:
    from: {url}/metrics
    only: [permits*]
    pools: [{{ busy: permits_taken, limit: permits, waiting: permits_queued }}]
steps: [get: /]
"""
    run = loadline("run", loadline.write("plan.yml", plan))
    assert run.returncode == 0, run.stdout + run.stderr
    found = loadline.summary()["saturation"]
    assert (found["reached"][0]["resource"], found["reached"][0]["limit"]) == ("pool", "0 of 4 left")
    assert found["sentence"].endswith("Never measured: server.app.permits_queued.")


@pytest.mark.parametrize(
    ("pools", "line"),
    [
        ("[{ busy: a }]", "a pool needs the metrics `busy` and `limit`"),
        ("[{ busy: a, limit: b, used: c }]", "used"),
        ("a", "`pools` must be a list"),
    ],
)
def test_malformed_pool_declaration_is_refused(loadline, pools, line):
    server = f'{{ app: {{ from: "http://127.0.0.1:9/metrics", pools: {pools} }} }}'
    plan = f"loadline: 1\ntarget: http://127.0.0.1:9\nload: {{ rate: 5/s, duration: 1s }}\nserver: {server}\nsteps: [get: /]\n"
    run = loadline("run", loadline.write("plan.yml", plan))
    assert run.returncode == 2, run.stdout + run.stderr
    assert line in run.stderr
    assert "plan.yml:4:" in run.stderr


CHECK_IN = """
loadline: 1
target: lab:checkin?instances=2&{options}
server: {{ puma: lab:1/metrics }}
load:
  - {{ rate: 2/s, duration: 5s }}
  - {{ rate: {rate}/s, duration: 20s }}
steps:
  - get: '/check_in/v2/sessions/{{{{ $uuid }}}}'
"""


@pytest.mark.long(seconds=30)
@pytest.mark.parametrize(
    ("options", "rate", "resource", "cause"),
    [
        # The demand of a request and what the instances can serve per second.
        ("threads=8&hold=500ms", 60, "thread pool", "held by lorota"),
        ("threads=4&cores=8&cpu=200ms&hold=1ms", 60, "thread pool", "too small"),
        ("threads=16&cores=1&cpu=50ms&hold=1ms", 60, "CPU", None),
        ("threads=8&cpu=5ms&hold=1ms&lock=50ms", 60, "thread pool", "held by the lock sessions"),
        ("threads=16&cores=4&cpu=5ms&hold=100ms", 60, None, None),
    ],
)
def test_live_service_is_attributed_to_its_missing_resource(loadline, options, rate, resource, cause):
    plan = loadline.write("plan.yml", CHECK_IN.format(options=options, rate=rate))
    run = loadline("run", plan, "--seed", 1, "--drain", "5s", timeout=120)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    found = loadline.summary()["saturation"]
    named = None if found["first"] is None else found["reached"][found["first"]]
    assert (named and named["resource"]) == resource, found
    assert (((named or {}).get("cause") or "").split(":")[0] or None) == cause, found
