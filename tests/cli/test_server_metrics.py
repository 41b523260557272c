"""Server metrics from endpoints, processes and commands, on the run's clock, in the record and in
criteria.
"""

import base64
import json
import socketserver
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

PUMA = '{"workers": 2, "worker_status": [{"backlog": 0, "running": 5}, {"backlog": 4, "running": 5}]}'
NGINX = "Active connections: 3 \nserver accepts handled requests\n 10 10 {} \nReading: 0 Writing: 1 Waiting: 2 \n"
PROMETHEUS = """# TYPE http_requests counter
http_requests_total{{method="GET",code="200"}} {}
# TYPE queue_length gauge
queue_length 7
# TYPE wait histogram
wait_bucket{{le="0.1"}} 3
wait_count 3
"""


class Metrics:
    """Serves metrics in several formats. Counters grow by 100 per scrape."""

    def __enter__(self):
        self.asked = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked += 1
                texts = {"/metrics": PROMETHEUS, "/stats": PUMA, "/status": NGINX}
                text = texts[self.path]
                body = text.format(outer.asked * 100) if text != PUMA else text
                self.send_response(200)
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Redis(socketserver.ThreadingTCPServer):
    """Implements enough of Redis for INFO with a password."""

    def __init__(self):
        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                asked = b""
                while b"INFO" not in asked:
                    asked += self.request.recv(4096)
                if b"hunter2" not in asked:
                    self.wfile.write(b"-NOAUTH Authentication required.\r\n")
                    return
                text = b"used_memory:1024\r\nconnected_clients:3\r\nkeyspace_hits:7\r\n"
                self.wfile.write(b"+OK\r\n$%d\r\n%s\r\n" % (len(text), text))

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


def panels(loadline) -> dict[str, list]:
    lines = (loadline.folder / ".loadline/runs/last/server.jsonl").read_text().splitlines()
    named: dict[str, list] = {}
    for sample in map(json.loads, lines):
        for key, value in sample.get("metrics", {}).items():
            named.setdefault(f"{sample['source']}.{key}", []).append(value)
    return named


def test_endpoint_metrics_are_recorded_and_judged(loadline, start_lab):
    lab = start_lab("sum")
    with Metrics() as metrics:
        run = loadline(
            *("run", f"{lab.url}/api/sum", "--rate", "20/s", "--duration", "3s"),
            *(
                "--server",
                f"app={metrics.url}/metrics",
                "--server",
                f"puma={metrics.url}/stats",
                "--server",
                f"web={metrics.url}/status",
            ),
            *("--check", "server.app.queue_length <= 7", "--check", "server.app.http_requests_total > 10/s"),
            *("--check", 'server.puma.worker_status.backlog of "1" < 4', "--check", "server.web.waiting max < 3"),
        )
    assert run.returncode == 1, run.stderr
    judged = {one["text"]: one["judgement"] for one in loadline.summary()["criteria"]}
    assert [judgement for judgement in judged.values()] == ["PASS", "PASS", "FAIL", "PASS"]
    known = panels(loadline)
    assert "app.wait_count" in known
    assert not any("bucket" in name for name in known)
    assert len(known["puma.worker_status.running{0}"]) >= 3


def test_processes_by_port_and_commands_are_sampled(loadline, start_lab):
    lab = start_lab("sum")
    port = lab.url.rsplit(":", 1)[1]
    run = loadline(
        *("run", f"{lab.url}/api/sum", "--rate", "20/s", "--duration", "3s"),
        *("--server", f"lab=port:{port}", "--server", "gc=command:echo heap 42"),
        *("--check", "server.lab.memory > 100000", "--check", "server.lab.processes <= 1", "--check", "server.gc.heap >= 42"),
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert panels(loadline)["lab.threads"][0] >= 1


def test_redis_password_is_not_in_the_record(loadline, start_lab):
    lab = start_lab("sum")
    with Redis() as redis:
        address = f"127.0.0.1:{redis.server_address[1]}"
        run = loadline("run", f"{lab.url}/api/sum", "--duration", "2s", "--server", f"cache=redis://:hunter2@{address}")
        assert run.returncode == 0, run.stderr
        assert panels(loadline)["cache.connected_clients"][0] == 3
        folder = loadline.folder / ".loadline/runs/last"
        for path in folder.rglob("*"):
            assert path.is_dir() or b"hunter2" not in path.read_bytes(), path
        wrong = loadline("run", f"{lab.url}/api/sum", "--duration", "1s", "--server", f"cache=redis://{address}")
        redis.shutdown()
    assert "cache cannot be measured yet: the server reports: NOAUTH Authentication required." in wrong.stderr


def test_basic_authentication_from_the_url_is_not_in_the_record(loadline, start_lab):
    """The percent-encoded credentials of the URL are sent as a header; neither header nor password
    is stored.
    """
    lab = start_lab("sum")
    header = "Basic " + base64.b64encode(b"me:hunter@2").decode()

    class Closed(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.headers["authorization"] == header else 401)
            self.end_headers()
            self.wfile.write(b"queue_length 7\n")

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Closed)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    where = f"127.0.0.1:{server.server_port}/metrics"
    ask = ("run", f"{lab.url}/api/sum", "--duration", "2s", "--check", "server.app.queue_length < 8", "--server")
    run = loadline(*ask, f"app=http://me:hunter%402@{where}")
    assert run.returncode == 0, run.stderr
    assert set(panels(loadline)["app.queue_length"]) == {7}
    folder = loadline.folder / ".loadline/runs/last"
    for path in folder.rglob("*"):
        kept = b"" if path.is_dir() else path.read_bytes()
        assert not any(secret in kept for secret in (b"hunter@2", b"hunter%402", header.encode()[6:])), path
    assert "hunter" not in run.stdout + run.stderr
    wrong = loadline(*ask, f"app=http://me:other@{where}")
    assert "app cannot be measured yet: returned 401, credentials required" in wrong.stderr
    refused = loadline(*ask, f"app=http://me:100%@{where}")
    assert refused.returncode == 2
    assert "%25" in refused.stderr
    assert "100%" not in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    server.shutdown()
    server.server_close()


def test_unreachable_source_is_a_gap_and_not_a_failure(loadline, start_lab):
    lab = start_lab("sum")
    where = "http://127.0.0.1:1/metrics"
    run = loadline("run", f"{lab.url}/api/sum", "--duration", "1s", "--server", f"app={where}", "--check", "server.app.x < 1")
    assert run.returncode == 5, run.stderr
    assert "app cannot be measured yet: GET 127.0.0.1:1/metrics: connection refused" in run.stderr
    notes = " ".join(loadline.summary()["notes"])
    assert "app could not be measured from" in notes


def test_metric_never_reported_is_noted_before_and_after_the_run(loadline, start_lab):
    lab = start_lab("sum")
    plan = loadline.write(
        "plan.yml",
        f"""loadline: 1
target: {lab.url}
load: {{ rate: 10/s, duration: 2s }}
server:
  cache: {{ from: "command:echo hits 42", only: [hits, misses] }}
  closed: port:1
  nobody: process:there-is-no-such-process
  stores: {{ from: "command:echo hits 42", only: [misses] }}
stop: ["server.cache.misses > 1 for 1s: stop fail"]
steps:
  - get: /api/sum
""",
    )
    run = loadline("run", plan)
    assert run.returncode == 0, run.stdout + run.stderr
    before = (
        "cache: no metric matches `misses` yet: check the spelling",
        "closed cannot be measured yet: no process listens on port 1",
        "nobody cannot be measured yet: there is no process named there-is-no-such-process",
        "stores: no metric matches `misses` yet: check the spelling",
    )
    for line in before:
        assert line in run.stderr
    notes = loadline.summary()["notes"]
    assert "stores: no value was reported during the run" in notes
    rule = "server.cache.misses > 1"
    assert f"the stop rule `{rule}` was never evaluated: no source reported server.cache.misses" in notes


def test_sources_of_plans_and_compatibility_commands(loadline, start_lab):
    lab = start_lab("sum")
    with Metrics() as metrics:
        loadline.write(
            "plan.yml",
            f"""loadline: 1
target: {lab.url}
load: {{ rate: 10/s, duration: 2s }}
server:
  puma: {{ from: "{metrics.url}/stats", only: [worker_status.*], counters: worker_status.running }}
steps:
  - get: /api/sum
""",
        )
        run = loadline("run", "plan.yml", "--check", "server.puma.workers < 9")
        assert run.returncode == 5, run.stderr
        assert "there is no server.puma.workers" in run.stdout
        assert set(panels(loadline)) >= {"puma.worker_status.backlog{1}"}
        loadline("wrk", "-t1", "-c1", "-d2s", f"{lab.url}/api/sum", env={"LOADLINE_SERVER": f"web={metrics.url}/status"})
        assert "web.requests" in panels(loadline)


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ("  app: nowhere", "plan.yml:5:8: `nowhere` is not a source of metrics"),
        ("  host: pid:1", "plan.yml:5:9: `host` is reserved for the machine that generates the load"),
        ("  app: { form: 'pid:1' }", "plan.yml:5:10: unknown key `form`: did you mean `from`?"),
        ("  - pid:1", "plan.yml:5:3: `server` must map names to addresses"),
        ("  app: https:///metrics", "`` is not a valid host"),
    ],
)
def test_source_error_is_reported_with_its_place(loadline, server, said):
    loadline.write(
        "plan.yml",
        f"loadline: 1\ntarget: http://127.0.0.1:1\nload: {{ rate: 1/s, duration: 1s }}\nserver:\n{server}\nsteps:\n  - get: /\n",
    )
    run = loadline("run", "plan.yml")
    assert run.returncode == 2
    assert said in run.stderr
