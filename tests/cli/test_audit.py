"""`loadline audit` reads tables of published reports and transcripts of other tools, and refuses
other files.
"""

import json
import re
from pathlib import Path

import pytest

TABLES = Path(__file__).parent.parent.parent / "crates/audit/tests/audit"
ARTILLERY = Path(__file__).parent.parent / "artillery/golden"


def findings(run, kind: str) -> list[str]:
    return [line for line in run.stdout.splitlines() if line.startswith(kind)]


def test_audit_finds_contradictions_in_published_artillery_rates(loadline):
    run = loadline("audit", TABLES / "published/medplum.txt")
    assert run.returncode == 1, run.stderr
    found = findings(run, "contradiction")
    assert len(found) == 3
    assert "http.request_rate 266/sec, but 166,000 requests in 5 min 15 s are 527/s (-50 %)" in found[0]
    assert "http.request_rate 554/sec, but 166,000 requests in 5 min 15 s are 527/s (+5.1 %)" in found[1]
    assert "mean of the rates of its periods" in found[0]
    assert re.fullmatch(r"\d+ figures read, \d+ relations checked, 3 contradictions", run.stdout.splitlines()[-1])


def test_audit_finds_more_requests_in_flight_than_connections(loadline):
    run = loadline("audit", TABLES / "published/phoenix.txt")
    assert run.returncode == 1
    (found,) = findings(run, "contradiction")
    assert "24,387/s × 13.40 ms = 327 requests in flight, on 100 connections" in found


def test_audit_accepts_consistent_tables(loadline):
    run = loadline("audit", TABLES / "published/pepeunit.txt", TABLES / "published/shortener.md")
    assert run.returncode == 0, run.stdout
    assert not findings(run, "contradiction")
    (remark,) = findings(run, "remark")
    assert "156 requests in flight, on 175 users" in remark


@pytest.mark.parametrize(
    "path", sorted((TABLES / "golden").iterdir()) + sorted(ARTILLERY.glob("*-*.json")), ids=lambda path: path.name
)
def test_audit_accepts_transcripts_of_the_tools(loadline, path):
    run = loadline("audit", path)
    assert run.returncode == 0, run.stdout + run.stderr


def test_audit_names_a_changed_figure(loadline):
    text = (TABLES / "golden/wrk-script.txt").read_text()
    run = loadline("audit", loadline.write("wrk.txt", text.replace("344151 requests", "334151 requests")))
    assert run.returncode == 1
    (found,) = findings(run, "contradiction")
    assert "line 13: Requests/sec 111014.59, but 334,151 requests in 3.1 s" in found


def test_audit_writes_findings_as_json(loadline):
    run = loadline("audit", TABLES / "published/medplum.txt", "--json", "found.json")
    assert run.returncode == 1
    (file,) = json.loads((loadline.folder / "found.json").read_text())["files"]
    assert file["contradictions"] == 3
    assert {finding["relation"] for finding in file["findings"]} == {"rate"}
    assert file["findings"][0]["figures"][0]["text"] == "266/sec"


@pytest.mark.parametrize("text", ["", "hello\n", '{"a": 1}', "a,b\n1,2\n", "\x00\xff", "config:\n  target: http://x\n"])
def test_audit_refuses_an_unknown_format(loadline, text):
    run = loadline("audit", loadline.write("unknown", text))
    assert run.returncode == 2
    (line,) = run.stderr.splitlines()
    assert line.startswith("loadline: ")
    for word in ["unknown", "Artillery", "JSON", "wrk", "wrk2", "Locust", "CSV", "tables", "summary.json"]:
        assert word in line, line


def test_audit_reports_unreadable_files(loadline):
    run = loadline("audit", "nowhere.txt")
    assert run.returncode == 3
    assert "nowhere.txt" in run.stderr
    assert loadline("audit").returncode == 2
    folder = loadline.folder / "empty"
    folder.mkdir()
    assert loadline("audit", folder).returncode == 2


def test_audit_accepts_the_summary_of_a_run(loadline):
    ran = loadline("run", "lab:sum", "--rate", "50/s", "--duration", "2s")
    assert ran.returncode == 0, ran.stderr
    folder = loadline.folder / ".loadline/runs/last"
    for what in (folder, folder / "summary.json"):
        run = loadline("audit", what)
        assert run.returncode == 0, run.stdout
        assert run.stdout.splitlines()[-1].endswith("relations checked, 0 contradictions")
    summary = json.loads((folder / "summary.json").read_text())
    summary["requests"]["issued"] += 1
    run = loadline("audit", loadline.write("changed.json", json.dumps(summary, indent=2)))
    assert run.returncode == 1
    assert "requests issued 101" in run.stdout
