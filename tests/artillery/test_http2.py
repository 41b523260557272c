"""`http2: true` of Artillery's requests: the server chooses the version over TLS."""

import json

import pytest

SCRIPT = {"config": {"phases": [{"duration": 1, "arrivalCount": 3}], "tls": {"rejectUnauthorized": False}}}


def script(loadline, target: str, *requests: dict) -> None:
    config = {**SCRIPT["config"], "target": target}
    flow = [{"get": {"url": "/", **request}} for request in requests]
    loadline.write("s.json", json.dumps({"config": config, "scenarios": [{"flow": flow}]}))


@pytest.mark.parametrize("tls", [True, False])
def test_requests_use_http2_if_the_server_chooses_it(loadline, start_lab, certificates, tls):
    files = (f"cert={certificates / 'server.pem'}", f"key={certificates / 'server.key'}") if tls else ()
    lab = start_lab("http2" if tls else "truth", *files)
    script(loadline, lab.url, {"http2": True}, {"http2": True})
    done = loadline("artillery", "run", "s.json", "-o", "out.json")
    assert done.returncode == 0, done.stdout + done.stderr
    totals = json.loads((loadline.folder / "out.json").read_text())["aggregate"]
    assert totals["counters"]["http.codes.200"] == 6
    # The times begin with each request, not with the run, which takes a second.
    assert totals["summaries"]["http.response_time"]["max"] < 400
    events = (loadline.folder / ".loadline/runs/last/events.jsonl").read_text()
    assert ("speaks HTTP/2" in events) == tls


def test_requests_must_agree(loadline, start_lab):
    script(loadline, start_lab("truth").url, {}, {"http2": True})
    done = loadline("artillery", "run", "s.json")
    assert done.returncode != 0
    assert "`http2: true` must be set for all requests of a script or for none of them" in done.stdout + done.stderr


def test_parallel_requests_wait_for_streams(loadline, start_lab, certificates):
    files = (f"cert={certificates / 'server.pem'}", f"key={certificates / 'server.key'}")
    lab = start_lab("http2", *files, "max-streams=2", "service=20ms")
    one = {"get": {"url": "/", "http2": True}}
    config = {**SCRIPT["config"], "target": lab.url, "http": {"timeout": 20}}
    # The connection of the first request carries those that follow, more at a time than it has streams.
    flow = [one, {"parallel": [one] * 7}, {"parallel": [one] * 5}]
    loadline.write("s.json", json.dumps({"config": config, "scenarios": [{"flow": flow}]}))
    done = loadline("artillery", "run", "s.json", "-o", "out.json")
    assert done.returncode == 0, done.stdout + done.stderr
    totals = json.loads((loadline.folder / "out.json").read_text())["aggregate"]
    assert totals["counters"]["http.codes.200"] == 3 * 13
    assert totals["counters"]["vusers.completed"] == 3
