"""`loadline report FILE` renders files of other tools and refuses files that are not reports."""

import json
import shutil
from pathlib import Path

import pytest
from conftest import ROOT

IMPORTS = Path(__file__).parent / "imports"


def rendered(loadline, name: str) -> tuple[str, dict, dict]:
    result = loadline("report", str(IMPORTS / name), "--out", "out")
    assert result.returncode == 0, result.stderr
    out = loadline.folder / "out"
    return (out / "report.md").read_text(), *(json.loads((out / f"{kind}.json").read_text()) for kind in ("summary", "series"))


def test_artillery_json_is_rendered(loadline):
    original = json.loads((IMPORTS / "artillery.json").read_text())
    text, summary, series = rendered(loadline, "artillery.json")
    assert summary["all"]["count"] == original["aggregate"]["counters"]["http.requests"] == 288
    times = original["aggregate"]["summaries"]["http.response_time"]
    assert summary["all"]["service"]["p99"]["ns"] == times["p99"] * 1_000_000
    assert len(series["points"]["from_ns"]) == len(original["intermediate"])
    assert sum(series["points"]["issued"]) == 288
    assert summary["measurement"] is None, "the file does not show whether its generator kept up"
    assert "| /fhir/R4/Patient " in text
    assert "request_rate" in " ".join(summary["notes"]), "what contradicts itself is said"


def test_locust_csv_set_is_read_from_any_of_its_files(loadline):
    by_stats, stats, series = rendered(loadline, "run_stats.csv")
    by_history, history, _ = rendered(loadline, "run_stats_history.csv")
    assert stats["all"] == history["all"]
    assert stats["all"]["count"] == 219
    assert [row["text"] for row in stats["labels"]] == ["GET /", "POST /api/sum", "GET /fhir/[search]", "GET refused"]
    assert sum(series["points"]["issued"]) <= 219
    assert len(series["points"]["from_ns"]) >= 5
    assert {error["reason"] for error in stats["errors"]} == {
        "ConnectionRefusedError(111, 'Connection refused')",
        "CatchResponseError('wrong sum')",
    }
    assert any("39 exceptions" in note for note in stats["notes"])


@pytest.mark.parametrize(("name", "requests"), [("wrk-latency.txt", 383711), ("wrk2-rate-latency.txt", 29966)])
def test_wrk_transcript_is_rendered(loadline, name, requests):
    text, summary, series = rendered(loadline, name)
    assert summary["all"]["count"] == requests
    assert series["points"]["from_ns"] == []
    assert "![" not in text.split("## Latency")[0], "a chart over time would be made up"


def test_published_table_of_an_imported_run(loadline):
    result = loadline("report", str(IMPORTS / "run_stats.csv"), "--table", "requests")
    lines = result.stdout.splitlines()
    assert [cell.strip() for cell in lines[0].strip("|").split("|")] == [
        "Endpoint",
        "# Requests",
        "# Failures",
        "Avg response (ms)",
        "Requests / s",
    ]
    assert len(lines) == 6


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"aggregate": {"counters": {', "line 1, column 29: this is not JSON"),
        ("hello\n", "unknown format, expected one of: "),
        ("", "unknown format, expected one of: "),
        ('{"a": 1}', "this JSON is not a report of a known tool"),
        ("Type,Name,Request Count,Failure Count\n", "unknown format, expected one of: "),
    ],
)
def test_file_that_is_not_a_report_is_refused(loadline, content, says):
    file = loadline.folder / "broken.json"
    file.write_text(content)
    result = loadline("report", "broken.json")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "broken.json: " in result.stderr
    assert says in result.stderr
    assert sorted(path.name for path in loadline.folder.iterdir()) == ["broken.json"]


def test_several_runs_in_one_file_are_refused(loadline):
    file = loadline.folder / "two.txt"
    file.write_text((IMPORTS / "wrk-latency.txt").read_text() * 2)
    result = loadline("report", "two.txt")
    assert result.returncode == 2
    assert "the file contains 2 runs" in result.stderr


def test_torn_file_of_a_set_is_refused(loadline):
    for name in ("run_stats.csv", "run_stats_history.csv"):
        shutil.copy(IMPORTS / name, loadline.folder / name)
    (loadline.folder / "run_stats.csv").write_text("nothing\n")
    result = loadline("report", "run_stats.csv")
    assert result.returncode == 2
    assert "run_stats.csv: " in result.stderr


OTHERS = ROOT / "crates/audit/tests/audit/golden"


@pytest.mark.parametrize(
    ("name", "tool", "requests"),
    [
        ("k6-data.json", "k6", 1762),
        ("vegeta-results.json", "Vegeta", 30),
        ("oha.json", "oha", 1000),
        ("fortio.json", "Fortio", 100),
        ("jmeter.csv", "JMeter", 4),
        ("jmeter.xml", "JMeter", 3),
        ("tagged.hlog", "HdrHistogram", 200),
    ],
)
def test_file_of_another_tool_is_rendered(loadline, name, tool, requests):
    result = loadline("report", OTHERS / name, "--out", "out")
    assert result.returncode == 0, result.stderr
    summary = json.loads((loadline.folder / "out/summary.json").read_text())
    assert summary["run"]["imported_from"] == tool
    assert summary["all"]["count"] == requests
    assert (loadline.folder / "out/report.html").stat().st_size > 10_000


def test_k6_summaries_are_compared_where_possible(loadline):
    ran = loadline("compare", OTHERS / "k6-export.json", OTHERS / "k6-data.json", "--out", "out")
    assert ran.returncode == 5
    assert "k6-export.json does not report it" in " ".join(ran.stdout.split())
