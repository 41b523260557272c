"""What saturated first: named of a service that tells of its limits, and of none that does not."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

# The instance tells of a pool of eight threads and of a line behind it, and of whom they wait for.
FULL = {"pool_capacity": 0, "max_threads": 8, "backlog": 5}
CALM = {"pool_capacity": 5, "max_threads": 8, "backlog": 0}
MORE = """# TYPE app_threads_waiting gauge
app_threads_waiting{for="ledger"} 7.5
# TYPE app_cpu_ratio gauge
app_cpu_ratio 0.2
"""


@pytest.fixture
def service():
    """Answers everything at once, and says of itself what it is told to."""
    told = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            texts = {"/stats": json.dumps(told), "/metrics": MORE}
            body = texts.get(self.path, "ok").encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", told
    server.shutdown()
    server.server_close()


def saturation(loadline, url: str, *flags: object) -> tuple[dict, str]:
    run = loadline("run", url, "--rate", "5/s", "--duration", "10s", *flags)
    assert run.returncode in (0, 4), run.stdout + run.stderr
    return loadline.summary()["saturation"], run.stdout


def test_a_full_pool_is_named_with_its_cause(loadline, service):
    url, told = service
    told.update(FULL)
    found, shown = saturation(loadline, url, "--server", f"puma={url}/stats", "--server", f"app={url}/metrics")
    assert found["first"] == 0
    first = found["reached"][0]
    assert (first["resource"], first["source"], first["instances"], first["of"]) == ("thread pool", "puma", 1, 1)
    assert first["cause"] == "held by ledger: 7.5 of 8 threads wait there, the processor is at 20.0 %"
    assert "What saturated first: thread pool (puma: 0 of 8 left" in shown.replace("\n  ", " ")
    report = (loadline.folder / ".loadline/runs/last/report.md").read_text()
    assert "## What saturated first" in report
    assert "| thread pool (puma) |" in report


def test_what_is_not_full_is_not_named(loadline, service):
    url, told = service
    told.update(CALM)
    found, shown = saturation(loadline, url, "--server", f"puma={url}/stats")
    assert (found["first"], found["reached"]) == (None, [])
    assert found["sentence"] == "Nothing that was measured reached its limit: thread pool (puma)."
    assert "saturated" not in shown


def test_nothing_is_said_where_no_service_was_measured(loadline, service):
    url, _ = service
    run = loadline("run", url, "--rate", "5/s", "--duration", "1s")
    assert run.returncode in (0, 4), run.stderr
    assert loadline.summary()["saturation"] is None
