"""`--export`: files and endpoints for other tools, and errors if they cannot be written."""

import csv
import os
import re
import socket
import urllib.error
import urllib.request
import xml.etree.ElementTree as ET

import fake_servers
import pytest

# Nothing is sent in the second phase, so a scrape then sees all requests of the target.
LOAD_AND_REST = """
loadline: 1
target: http://unused.invalid
load: [{rate: 100/s, duration: 2s}, {pause: 4s}, {count: 1, duration: 1s}]
scenarios:
  - name: adding
    steps: [{get: /api/sum?a=1&b=2}, {get: /nowhere}]
"""


def test_exported_files_agree_with_the_summary(loadline, start_lab):
    lab = start_lab("sum")
    checks = ("--check", "rate < 1/s", "--check", "errors < 1%", "--check", "p99.9 < 1s")
    exports = ("--export", "junit=ci.xml", "--export", "csv=over time.csv")
    run = loadline("run", f"{lab.url}/api/sum", "--rate", "500/s", "--duration", "1s", *checks, *exports)
    assert run.returncode == 1, run.stderr
    summary = loadline.summary()

    suite = ET.parse(loadline.folder / "ci.xml").getroot().find("testsuite")
    cases = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
    # A stalled generator can only send less, so the failure of the rate criterion remains.
    assert cases["rate < 1/s"] == ["failure"]
    assert cases["errors < 1%"] == []
    assert cases["p99.9 < 1s"] == ["error"]
    assert cases["measurement"] == (["error"] if run.returncode == 4 else [])
    assert suite.get("name") == summary["run"]["name"]
    assert suite.get("tests") == "4"
    case = next(case for case in suite.iter("testcase") if case.get("name") == "rate < 1/s")
    assert summary["criteria"][0]["measured"] in case[0].text

    with open(loadline.folder / "over time.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    every = [row for row in rows if row["group"] == "all"]
    assert sum(int(row["planned"]) for row in every) == 500
    assert sum(int(row["ok"]) for row in every) == summary["requests"]["ok"] == lab.stats()["answered"]["total"]
    largest = max(float(row["service_max_ms"]) for row in every if row["service_max_ms"])
    assert largest == pytest.approx(summary["all"]["service"]["max"]["ns"] / 1e6)

    again = loadline("report", "last", "--export", "junit=again.xml", "--export", "csv=again.csv")
    assert again.returncode == 0
    for first, second in (("ci.xml", "again.xml"), ("over time.csv", "again.csv")):
        assert (loadline.folder / first).read_text() == (loadline.folder / second).read_text()


def test_unwritable_export_changes_only_the_exit_code(loadline, start_lab):
    url = f"{start_lab('sum').url}/api/sum"
    exports = ("--export", "junit=/dev/full", "--export", "csv=series.csv")
    run = loadline("run", url, "--rate", "20/s", "--duration", "1s", *exports)
    assert run.returncode == 3
    assert [line for line in run.stderr.splitlines() if "cannot write" in line] == [
        "loadline: cannot write /dev/full: No space left on device (os error 28)"
    ]
    assert "20 issued" in run.stdout
    assert (loadline.folder / "series.csv").exists()
    report = loadline("report", "last", "--export", "csv=/proc/none.csv")
    assert report.returncode == 3
    assert "cannot write /proc/none.csv" in report.stderr


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (
            ["--export", "html=a"],
            "--export 'html=a': unknown format, use junit=FILE, csv=FILE, prometheus, remote-write=URL, statsd=URL, otlp=URL or ",
        ),
        (["--export", "junit"], "--export 'junit': the file name is missing, use junit=FILE"),
        (["--export", "prometheus=here"], "--export 'prometheus=here': "),
        (["--ui-port", "80"], "--ui"),
        (["--ui", "--ui-port", "65536"], "65536"),
    ],
)
def test_malformed_export_is_refused_before_any_request(loadline, flags, said):
    with fake_servers.FakeServer(fake_servers.ok_with()) as peer:
        run = loadline("run", peer.url, "--rate", "10/s", "--duration", "1s", *flags)
        assert peer.open == []
    assert run.returncode == 2
    assert said in run.stderr
    assert not (loadline.folder / ".loadline").exists()


def test_port_in_use_is_reported_before_any_request(loadline):
    with socket.create_server(("127.0.0.1", 0)) as taken, fake_servers.FakeServer(fake_servers.ok_with()) as peer:
        port = taken.getsockname()[1]
        for flags in (["--ui", "--ui-port", port], ["--export", f"prometheus=127.0.0.1:{port}"]):
            run = loadline("run", peer.url, "--rate", "10/s", "--duration", "1s", *flags)
            assert run.returncode == 3
            assert f"cannot listen on 127.0.0.1:{port}" in run.stderr
        assert peer.open == []
        assert not (loadline.folder / ".loadline").exists()


def test_report_command_has_no_prometheus_endpoint(loadline):
    report = loadline("report", "last", "--export", "prometheus")
    assert report.returncode == 2
    assert "works only during a run" in report.stderr
    file = loadline.write("run.json", "{}")
    report = loadline("report", file, "--export", "junit=a.xml")
    assert report.returncode == 2
    assert "remove --export, or specify a run" in report.stderr


def scrape(url: str, **headers: str) -> dict[str, float]:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


def test_prometheus_endpoint_agrees_with_the_target(loadline, start_lab):
    lab = start_lab("sum")
    plan = loadline.write("plan.yml", LOAD_AND_REST)
    run = loadline.start("run", plan, "--target", lab.url, "--export", "prometheus")
    line = next(line for line in run.stderr if line.startswith("metrics on "))
    url = re.fullmatch(r"metrics on (http://127\.0\.0\.1:\d+/metrics)\n", line)[1]
    scrapes = []
    while True:
        scrapes.append(scrape(url))
        if scrapes[-1]["loadline_elapsed_seconds"] > 3.5:  # during the pause
            break
    for name in scrapes[-1]:
        if re.search(r"_(total|count|sum|bucket)(\{|$)", name):
            figures = [seen.get(name, 0) for seen in scrapes]
            assert figures == sorted(figures), name
    last = scrapes[-1]
    answered = lab.stats()["answered"]["by_route"]
    good, bad = 'label="GET /api/sum?a=1&b=2"', 'label="GET /nowhere"'
    assert last[f'loadline_responses_total{{{good},code="200"}}'] == answered["GET /api/sum"]["200"] == 200
    assert last[f'loadline_requests_total{{{bad},outcome="failed"}}'] == 200
    assert last[f'loadline_responses_total{{{bad},code="404"}}'] == sum(n for codes in answered.values() for n in codes.values()) - 200
    assert last[f"loadline_request_duration_seconds_count{{{good}}}"] == 200
    assert last['loadline_arrivals_total{state="started"}'] == 200
    assert last["loadline_running"] == 1

    # DNS rebinding: another name for this machine, or a page of another site.
    for headers in ({"Host": "rebound.test"}, {"Origin": "http://other.test"}):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            scrape(url, **headers)
    out, _ = run.communicate(timeout=30)
    assert "402 issued" in out
    with pytest.raises(urllib.error.URLError):
        scrape(url)


def test_environment_sets_exports_of_compatibility_commands(loadline, start_lab):
    lab = start_lab("sum")
    script = loadline.write("script.yml", "config: {target: '" + lab.url + "', phases: [{duration: 1, arrivalCount: 5}]}\n"
                            "scenarios: [{flow: [{get: {url: /api/sum}}]}]\n")  # fmt: skip
    env = {"LOADLINE_EXPORT": "junit=a.xml, csv=a.csv,prometheus", "LOADLINE_UI": "1"}
    run = loadline("artillery", "run", script, env=env)
    assert run.returncode == 0, run.stderr
    assert "metrics on http://127.0.0.1:" in run.stderr
    assert "live view: http://127.0.0.1:" in run.stderr
    assert "metrics on" not in run.stdout
    assert "live view" not in run.stdout
    with open(loadline.folder / "a.csv", newline="") as file:
        assert sum(int(row["ok"]) for row in csv.DictReader(file) if row["group"] == "all") == 5
    assert ET.parse(loadline.folder / "a.xml").getroot().get("tests") == "1"

    run = loadline("artillery", "run", script, env={"LOADLINE_EXPORT": "xml=a"})
    assert run.returncode == 1
    assert "LOADLINE_EXPORT 'xml=a': unknown format" in run.stderr
    run = loadline("wrk", "-d1", "-c1", "-t1", f"{lab.url}/api/sum", env={"LOADLINE_EXPORT": "csv=wrk.csv"})
    assert run.returncode == 0
    assert os.path.getsize(loadline.folder / "wrk.csv") > 500


@pytest.mark.parametrize("export", ["otlp=htp://me:hunter2@h", "remote-write=htp://me:hunter2@h", "nothing=http://me:hunter2@h"])
def test_password_of_a_wrong_export_is_hidden(loadline, export):
    run = loadline("run", "http://127.0.0.1:1", "--rate", "1/s", "--duration", "1s", "--export", export)
    assert run.returncode in (2, 3)
    assert "hunter2" not in run.stdout + run.stderr
