"""`--ui`: the live view's page, its events, its stop button, and access control."""

import contextlib
import csv
import http.client
import re
import signal
import time
import urllib.error
import urllib.request

import pytest
from live_run import LiveRun


def watch(loadline, url: str, *flags: object) -> LiveRun:
    """Starts a run at 100/s with a live view."""
    return LiveRun(loadline.start("run", url, "--rate", "100/s", "--ui", *flags))


@pytest.fixture
def live(loadline, start_lab):
    lab = start_lab("sum")
    view = watch(loadline, f"{lab.url}/api/sum", "--duration", "60s", "--check", "errors < 1%")
    view.lab = lab
    yield view
    if view.run.poll() is None:
        view.run.send_signal(signal.SIGINT)
    view.run.communicate(timeout=20)


def apply_tick(page: dict, tick: dict) -> None:
    """Updates the page's data as its script does."""

    def join(old: object, new: object) -> None:
        pairs = [(old[key], new[key]) for key in new] if isinstance(new, dict) else list(zip(old, new, strict=True))
        for before, after in pairs:
            if isinstance(after, dict) or any(isinstance(item, list) for item in after):
                join(before, after)
            else:
                assert len(before) >= tick["from"]
                before[tick["from"] :] = after

    join(page["series"]["points"], tick["series"]["points"])
    join(page["series"]["criteria_timeline"], tick["series"]["criteria_timeline"])
    page["summary"] = tick["summary"]


def test_live_page_follows_the_run_to_its_end(live, loadline):
    status, text, headers = live.request("GET", f"/{live.token}/")
    assert status == 200
    assert headers["content-type"].startswith("text/html")
    assert headers["x-frame-options"] == "DENY"
    assert '<script type="application/json" id="page">null</script>' in text

    page, names, counts = None, [], []
    for name, data in live.events():
        names.append(name)
        if name == "page":
            assert set(data) == {"summary", "series", "manifest"}
            page = data
        elif name == "tick":
            apply_tick(page, data)
        elif name == "now":
            newest = data["newest"]
            assert newest["errors_so_far"] == 0
            if any(counts) and len(counts) < 3:
                assert newest["span_ns"][1] == page["series"]["points"]["to_ns"][-1]
            continue
        if name == "end":
            assert data["report"].endswith("/report.html")
            break
        points = page["series"]["points"]
        counts.append(sum(points["ok"]))
        assert counts[-1] == page["summary"]["requests"]["ok"]
        assert {len(points["from_ns"])} == {len(points["response"]["p95"]), len(page["series"]["criteria_timeline"][0])}
        if len(counts) == 3:
            assert live.request("POST", f"/{live.token}/stop", Sec_Fetch_Site="same-origin")[0] == 204
            # A second press does not hurry the run, and may come after its end.
            with contextlib.suppress(ConnectionError):
                assert live.request("POST", f"/{live.token}/stop", Sec_Fetch_Site="same-origin")[0] == 204
    assert names[0] == "page"
    assert names[-1] == "end"
    assert "tick" in names
    assert counts == sorted(counts)
    assert page["summary"]["run"]["state"] == "interrupted"
    assert page["summary"]["run"]["ended_by"] == "the stop button of the live view"
    assert counts[-1] == live.lab.stats()["answered"]["total"] > 100

    out, _ = live.run.communicate(timeout=10)
    assert live.run.returncode == 130
    assert "ended early (the stop button of the live view" in " ".join(out.split())
    summary = loadline.summary()
    assert summary["requests"] == page["summary"]["requests"]
    assert summary["all"] == page["summary"]["all"]


def test_live_view_accepts_only_this_machine_under_its_own_name(live):
    home, own = f"/{live.token}/", f"127.0.0.1:{live.port}"
    assert live.request("GET", home, Host=f"localhost:{live.port}")[0] == 200
    assert live.request("GET", home, Origin=f"http://{own}")[0] == 200
    for headers in (
        {"Host": "rebound.test"},
        {"Host": f"rebound.test:{live.port}"},
        {"Host": "127.0.0.1"},
        {"Origin": "http://rebound.test"},
        {"Origin": "null"},
        {"Origin": f"https://{own}"},
    ):
        for method, path in (("GET", home), ("GET", f"{home}events"), ("POST", f"{home}stop"), ("GET", "/")):
            assert live.request(method, path, **headers)[0] == 403, (headers, method, path)
    for path in ("/", "/events", f"/{'0' * 32}/", f"/{'0' * 32}/events", "/stop"):
        assert live.request("GET", path)[0] == 404
    assert live.run.poll() is None


def test_live_stop_requires_a_deliberate_request(live):
    stop = f"/{live.token}/stop"
    assert live.request("GET", stop)[0] == 405
    assert live.request("POST", stop)[0] == 403
    assert live.request("POST", stop, Sec_Fetch_Site="cross-site")[0] == 403
    assert live.request("POST", stop, Sec_Fetch_Site="none")[0] == 403
    assert live.request("POST", f"/{'0' * 32}/stop", X_Loadline="stop")[0] == 404
    assert live.run.poll() is None
    assert live.request("POST", stop, X_Loadline="stop")[0] == 204
    live.run.communicate(timeout=10)
    assert live.run.returncode == 130


def test_shared_view_shows_the_run_but_cannot_change_it(loadline, start_lab):
    url = f"{start_lab('sum').url}/api/sum"
    view = LiveRun(loadline.start("run", url, "--rate", "100/s", "--duration", "60s", "--ui-share"), "read-only view")
    home = f"/{view.token}/"
    assert view.request("GET", home)[0] == 200
    assert next(view.events())[0] == "page"
    for path in ("stop", "load"):
        assert view.request("POST", f"{home}{path}", "rate=1/s", X_Loadline="stop")[0] == 404
    assert view.request("GET", home, Host="rebound.test")[0] == 403
    assert view.run.poll() is None
    view.run.send_signal(signal.SIGINT)
    view.run.communicate(timeout=20)
    assert view.run.returncode == 130


def test_live_clients_that_do_not_read_do_not_delay_the_run(loadline, start_lab):
    lab = start_lab("sum")
    view = watch(loadline, f"{lab.url}/api/sum", "--duration", "3s")
    connections = []
    for _ in range(16):
        connection = http.client.HTTPConnection("127.0.0.1", view.port, timeout=10)
        connection.request("GET", f"/{view.token}/events")
        assert connection.getresponse().status == 200
        connections.append(connection)
    # One more connection is refused with 503.
    with pytest.raises(urllib.error.HTTPError, match="503"):
        next(view.events())
    began = time.monotonic()
    out, _ = view.run.communicate(timeout=30)
    assert time.monotonic() - began < 20
    assert "300 issued = 300 ok" in out
    for connection in connections:
        connection.close()


def test_live_figures_can_be_downloaded_as_csv(live):
    for name, data in live.events():
        if name == "now" and data["newest"]["span_ns"][1] > 10**9:
            known = data["newest"]["span_ns"][1] / 1e9
            break
    status, text, headers = live.request("GET", f"/{live.token}/run.csv")
    assert status == 200
    assert headers["content-type"] == "text/csv; charset=utf-8"
    assert re.fullmatch(r'attachment; filename="[\w.-]+\.csv"', headers["content-disposition"])
    rows = list(csv.DictReader(text.splitlines()))
    last = [row for row in rows if row["group"] == "all"][-1]
    assert float(last["time_s"]) + float(last["length_s"]) >= known - 1e-9
    assert sum(int(row["ok"]) for row in rows if row["group"] == "all") >= 90
    assert live.request("GET", f"/{live.token}/run.csv", Origin="http://rebound.test")[0] == 403
    assert live.request("GET", "/run.csv")[0] == 404


def test_live_errors_are_listed_by_endpoint_with_samples(loadline, start_lab):
    lab = start_lab("sum")
    view = watch(loadline, f"{lab.url}/nothing/here", "--duration", "60s")
    try:
        for name, data in view.events():
            if name == "now" and data["newest"]["errors_so_far"] >= 100:
                break
        (kind,) = data["newest"]["kinds"]
        assert (kind["class"], kind["label"], kind["first"]["status"]) == ("failed", "GET /nothing/here", 404)
        assert kind["count"] == data["newest"]["errors_so_far"]
        assert 0 < kind["now"] == data["newest"]["errors"] <= kind["count"]
        assert data["newest"]["error_share"] == 1
        log = data["log"]["lines"]
        assert {"phase", "error"} <= {line["kind"] for line in log}
        assert [line["at_ns"] for line in log] == sorted(line["at_ns"] for line in log)
    finally:
        view.run.send_signal(signal.SIGINT)
        view.run.communicate(timeout=20)


def test_live_page_opened_before_the_start_shows_the_plan(live):
    name, page = next(live.events())
    assert name == "page"
    assert page["summary"]["run"]["state"] == "running"
    assert page["manifest"]["criteria"] == ["errors < 1%"]
