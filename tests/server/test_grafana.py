"""The queries of `loadline export grafana-dashboard` have results in a real Prometheus."""

import json
import time
import urllib.parse
import urllib.request

VARIABLES = {"$__rate_interval": "11s", "$job": ".*", "$instance": ".*", "$run_id": ".*"}


def query_range(url: str, promql: str, began: float) -> list[dict]:
    for name, value in VARIABLES.items():
        promql = promql.replace(name, value)
    assert "$" not in promql
    parameters = {"query": promql, "start": began, "end": time.time(), "step": "1"}
    with urllib.request.urlopen(f"{url}/api/v1/query_range?{urllib.parse.urlencode(parameters)}", timeout=10) as answer:
        found = json.load(answer)
    assert found["status"] == "success"
    return found["data"]["result"]


def test_every_query_of_the_dashboard_has_results(loadline, start_lab, remote_write):
    lab = start_lab("sum")
    began = time.time()
    run = loadline(
        "run", f"{lab.url}/", "--rate", "100/s", "--duration", "11s", "--export", f"remote-write={remote_write}/api/v1/write"
    )
    assert run.returncode == 0, run.stderr
    written = loadline("export", "grafana-dashboard", "-o", "dashboard.json")
    assert written.returncode == 0, written.stderr
    dashboard = json.loads((loadline.folder / "dashboard.json").read_text())
    assert json.loads(loadline("export", "grafana-dashboard").stdout) == dashboard
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            found = query_range(remote_write, target["expr"], began)
            # Only requests without a response have a cause.
            assert bool(found) == ("without a response" not in panel["title"]), (panel["title"], target["expr"])
    found = query_range(remote_write, dashboard["panels"][0]["targets"][0]["expr"], began)
    highest = {series["metric"]["outcome"]: max(float(value) for _, value in series["values"]) for series in found}
    # An export every five seconds is few samples for a rate.
    assert 30 < highest.pop("ok") < 130
    assert set(highest.values()) == {0}


def test_dashboard_that_cannot_be_written_is_one_line(loadline):
    ran = loadline("export", "grafana-dashboard", "-o", "missing/dashboard.json")
    assert ran.returncode == 3
    assert ran.stderr.startswith("loadline: cannot write missing/dashboard.json")
    assert ran.stderr.count("\n") == 1
