"""The plugins metrics-by-endpoint and apdex: names with every option, redirects, Server-Timing."""

from __future__ import annotations

import json

import fake_servers
import pytest
from conftest import Loadline

FLOW = """
      - get: { url: "/json/{{ v }}?q=1&z={{ v }}" }
      - get: { url: "/json", name: "nm {{ v }}", qs: { a: 1 } }
      - post: { url: "/other", name: "nm {{ v }}" }
      - get: { url: /timing }
      - get: { url: "/a%20b/ü" }
      - get: { url: "http://localhost:PORT/other?x#frag" }
      - get: { url: "URL/same" }
      - get: { url: /redir }
      - get: { url: "http://127.0.0.1:1/refused", name: rr }
"""


def serve(connection):
    while request := connection.recv(65536):
        path = request.split(b" ")[1]
        extra = b"Server-Timing: db;dur=5, total;dur=12.5\r\n" if path == b"/timing" else b""
        status = b"302 Found" if path == b"/redir" else b"200 OK"
        extra += b"Location: /json\r\n" if path == b"/redir" else b""
        connection.sendall(b"HTTP/1.1 %s\r\n%sContent-Length: 0\r\n\r\n" % (status, extra))
    connection.close()


def run(loadline: Loadline, plugins: str, config: str = ""):
    with fake_servers.FakeServer(serve) as peer:
        flow = FLOW.replace("URL", peer.url).replace("PORT", peer.url.rsplit(":", 1)[1])
        script = loadline.write(
            "s.yml",
            f"config: {{ target: '{peer.url}', variables: {{ v: 7 }}, plugins: {{ {plugins} }}, {config} }}\n"
            f"scenarios:\n  - flow:{flow}",
        )
        ended = loadline("artillery", "run", script, "-o", "out.json")
    return ended, json.loads((loadline.folder / "out.json").read_text())["aggregate"]


def metric_names(aggregate: dict, namespace: str = "plugins.metrics-by-endpoint.") -> set[str]:
    metrics = [*aggregate["counters"], *aggregate["summaries"]]
    return {name.removeprefix(namespace) for name in metrics if name.startswith(namespace)}


# Recorded from Artillery.
OPTIONS = {
    "metrics-by-endpoint: {}": (
        "/json/{{ v }}?q=1&z={{ v }}",
        "/json (nm {{ v }})",
        "/other (nm {{ v }})",
        "localhost/other?x",
        ":1/refused (rr)",
    ),
    "ensure: {}": ("/json/{{ v }}", "/json (nm {{ v }})", "/other (nm {{ v }})", "localhost/other", ":1/refused (rr)"),
    "metrics-by-endpoint: { stripQueryString: true }": (
        *("/json/{{ v }}", "/json (nm {{ v }})", "/other (nm {{ v }})", "localhost/other", ":1/refused (rr)"),
    ),
    "metrics-by-endpoint: { useOnlyRequestNames: true }": (
        *("/json/{{ v }}?q=1&z={{ v }}", "nm {{ v }}", "nm {{ v }}", "localhost/other?x", "rr"),
    ),
    "metrics-by-endpoint: { groupDynamicURLs: false, stripQueryString: true }": (
        *("/json/7", "/json (nm 7)", "/other (nm 7)", "localhost/other", ":1/refused (rr)"),
    ),
}


@pytest.mark.parametrize("plugins", OPTIONS)
def test_endpoint_names_follow_the_options(loadline, plugins):
    ended, aggregate = run(loadline, plugins)
    first, named, posted, elsewhere, refused = OPTIONS[plugins]
    answered = [first, named, posted, "/timing", "/a b/ü", elsewhere, "/same", "/redir"]
    wanted = {f"{name}.codes.200" for name in answered} | {f"response_time.{name}" for name in answered}
    assert metric_names(aggregate) == wanted | {f"{refused}.errors.ECONNREFUSED", "server-timing./timing"}
    timing = aggregate["summaries"]["plugins.metrics-by-endpoint.server-timing./timing"]
    assert (timing["count"], timing["min"], timing["median"]) == (1, 12.5, 12.6)
    shown = "metrics-by-endpoint" in ended.stdout
    assert shown == plugins.startswith("metrics-by-endpoint")


def test_unnamed_requests_are_ignored_in_a_custom_namespace(loadline):
    ended, aggregate = run(loadline, "metrics-by-endpoint: { ignoreUnnamedRequests: true, metricsNamespace: my.ns }")
    assert metric_names(aggregate) == set()
    wanted = {
        f"{kind}"
        for name in ("/json", "/other")
        for kind in (f"{name} (nm {{{{ v }}}}).codes.200", f"response_time.{name} (nm {{{{ v }}}})")
    }
    assert metric_names(aggregate, "my.ns.") == wanted | {":1/refused (rr).errors.ECONNREFUSED"}
    assert "my.ns./json (nm {{ v }}).codes.200: " in ended.stdout


def test_endpoint_output_can_be_suppressed(loadline):
    ended, aggregate = run(loadline, "metrics-by-endpoint: { suppressOutput: true }")
    assert "metrics-by-endpoint" not in ended.stdout
    assert metric_names(aggregate)


def test_apdex_counts_final_answers_and_ensure_reads_the_score(loadline):
    config = "apdex: { threshold: 60000 }, ensure: { conditions: [ { expression: 'apdex == 1' } ] }"
    ended, aggregate = run(loadline, "apdex: {}, ensure: {}", config)
    # Nine requests: eight answers, one of them after a redirect, and one refused connection.
    assert aggregate["counters"]["apdex.satisfied"] == 8
    assert "ok: apdex == 1\n" in ended.stdout
    assert ended.returncode == 0
