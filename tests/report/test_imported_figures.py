"""Reports of other tools' files contain only what the files contain.

Unknown figures are omitted, not zero.
"""

import json
import re
from pathlib import Path

import pytest

IMPORTS = Path(__file__).parent / "imports"


def rendered(loadline, name: str, text: str) -> tuple[str, dict, str]:
    loadline.write(name, text)
    result = loadline("report", name)
    assert result.returncode == 0, result.stderr
    out = loadline.folder / f"{name}-report"
    return result.stdout, json.loads((out / "summary.json").read_text()), (out / "report.md").read_text()


ARTILLERY_WITH_500 = {
    "aggregate": {
        "counters": {
            "vusers.created": 630,
            "vusers.completed": 630,
            "vusers.failed": 0,
            "http.requests": 630,
            "http.responses": 630,
            "http.codes.200": 618,
            "http.codes.500": 12,
        },
        "rates": {"http.request_rate": 63},
        "firstMetricAt": 1795178069000,
        "lastMetricAt": 1795178079000,
        "summaries": {"http.response_time": {"min": 1, "max": 9, "count": 630, "mean": 2, "p50": 2, "p95": 4, "p99": 7}},
    },
    "intermediate": [],
}


def test_artillery_answers_with_status_500_are_failures(loadline):
    console, summary, markdown = rendered(loadline, "art.json", json.dumps(ARTILLERY_WITH_500))
    assert summary["requests"]["ok"] == 618
    assert summary["all"]["errors"] == 12
    assert [(row["reason"], row["count"]) for row in summary["errors"]] == [("status 500", 12)]
    assert "12 × status 500" in summary["verdict"]["sentence"]
    for text in (console, markdown):
        assert "630 ok" not in text
        assert "618 ok + 12 failed" in text
    for name in ("seed", "workers"):
        assert name not in summary["run"], "the report states no seed and no workers"
    for name in ("connections_opened", "in_flight", "users", "exit_code"):
        assert name not in summary
    assert not re.search(r"\b(seed|workers)\b", markdown)


def test_artillery_excerpt_with_times_only_has_no_requests(loadline):
    text = "http.response_time:\n  min: ......... 1\n  max: ......... 9\n  p50: ......... 2\n  p99: ......... 7\n"
    excerpt = "--------\nSummary report @ 12:34:22(+0000)\n--------\nhttp.request_rate: ......... 63/sec\n" + text
    console, summary, markdown = rendered(loadline, "art.txt", excerpt)
    assert "requests" not in summary
    assert "count" not in summary["all"]
    assert "errors" not in summary["all"]
    assert summary["all"]["service"]["p50"]["ns"] == 2_000_000
    for text in (console, markdown, summary["verdict"]["sentence"]):
        assert not re.search(r"\b0 (requests|issued|ok|counted)", text), text
        assert "none failed" not in text
        assert "Nothing was" not in text


def test_files_with_equal_stems_do_not_overwrite_each_other(loadline):
    rendered(loadline, "run.json", json.dumps(ARTILLERY_WITH_500))
    rendered(loadline, "run.txt", (IMPORTS / "wrk-latency.txt").read_text())
    tools = {json.loads(path.read_text())["run"]["imported_from"] for path in loadline.folder.glob("*-report/summary.json")}
    assert tools == {"Artillery", "wrk"}


HEAD = (
    "Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,66%,75%,80%,90%,95%,98%,99%,99.9%,99.99%,100%,"
    "Total Request Count,Total Failure Count,Total Median Response Time,Total Average Response Time,"
    "Total Min Response Time,Total Max Response Time,Total Average Content Size\n"
)


@pytest.mark.parametrize("full", [False, True])
def test_locust_percentiles_since_the_start_are_not_drawn(loadline, full):
    def line(second: int, name: str, ms: object) -> str:
        times = ",".join([str(ms)] * 11)
        return f"{1795178069 + second},5,,{name},10.0,0.0,{times},{10 * second},0,2,2.0,1,900,20\n"

    lines = [line(second, "Aggregated", 10 * second) for second in range(6)]
    if full:
        lines += [line(second, "/one", 10 * second) for second in range(6)]
        lines.sort()
    stats = (IMPORTS / "run_stats.csv").read_text().splitlines(keepends=True)
    loadline.write("t_stats.csv", stats[0] + stats[-1])
    loadline.write("t_stats_history.csv", HEAD + "".join(lines))
    result = loadline("report", "t_stats.csv")
    assert result.returncode == 0, result.stderr
    series = json.loads((loadline.folder / "t_stats.csv-report/series.json").read_text())
    drawn = [ns for ns in series["points"]["service"]["p95"] if ns is not None]
    assert bool(drawn) == full
    assert full or all(ns is None for ns in series["points"]["service"]["max"])
    assert ("since the start" in result.stdout) == (not full)


def test_page_of_wrk_output_shows_its_figures(loadline, browser):
    text = (IMPORTS / "wrk-latency.txt").read_text()
    rendered(loadline, "wrk.txt", text)
    page = browser.new_page()
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto((loadline.folder / "wrk.txt-report/report.html").as_uri())
    page.wait_for_selector("h1")
    shown = page.inner_text("body")
    page.close()
    assert wrong == []
    assert "383,711" in page_section(shown)
    assert "No requests were sent" not in shown
    assert "NaN" not in shown
    assert "undefined" not in shown


def page_section(text: str) -> str:
    return text[text.index("Endpoints") :]


def test_equal_file_names_keep_separate_reports(loadline):
    """Files in different folders get separate reports. Rendering again replaces a report."""
    for folder, ok in (("a", 630), ("b", 620)):
        counters = {**ARTILLERY_WITH_500["aggregate"]["counters"], "http.codes.200": ok - 12, "http.responses": ok}
        aggregate = {**ARTILLERY_WITH_500["aggregate"], "counters": counters}
        (loadline.folder / folder).mkdir()
        loadline.write(f"{folder}/x.json", json.dumps({**ARTILLERY_WITH_500, "aggregate": aggregate}))
    said = [loadline("report", f"{folder}/x.json").stdout.splitlines()[-1] for folder in "aba"]
    assert said == [f"Report: x.json-report{end}/report.html" for end in ("", "-2", "")]
    pages = [json.loads((loadline.folder / f"x.json-report{end}/summary.json").read_text()) for end in ("", "-2")]
    assert [page["requests"]["ok"] for page in pages] == [618, 608]
