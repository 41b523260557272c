"""Forty figures of three runs agree between console, page, Markdown report and JSON."""

import json
import re

import pytest

OPEN = """
loadline: 1
target: http://unused.invalid
load: [{name: first, rate: 100/s, duration: 2s}, {name: second, rate: 150/s, duration: 2s}]
scenarios:
  - name: adding
    steps: [{get: /api/sum?a=1&b=2}]
criteria: [errors < 1%, p50 < 10s]
"""
ARTILLERY = """
config:
  target: http://unused.invalid
  phases: [{duration: 2, arrivalRate: 60}]
scenarios:
  - name: mixed
    flow: [{get: {url: /api/sum?a=1&b=2}}, {get: {url: /nowhere}}]
"""


def format_count(n: int) -> str:
    return f"{n:,}"


def three_digits(value: float) -> str:
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f}"


def format_rate(value: float) -> str:
    return "0" if value == 0 else three_digits(value) if value < 999.5 else format_count(round(value))


def format_time(ns: int) -> str:
    for least, unit, size in ((999_500_000, "s", 1e9), (999_500, "ms", 1e6), (1_000, "µs", 1e3)):
        if ns >= least:
            return f"{three_digits(ns / size)} {unit}"
    return f"{ns} ns"


def format_in_unit(ns: int, unit: str) -> str:
    """Formats the bound of an interval in the unit of its value, without the unit."""
    value = ns / {"s": 1e9, "ms": 1e6, "µs": 1e3, "ns": 1}[unit]
    if unit == "ns" or ns == 0 or value >= 999.5:
        return format_count(round(value))
    decimals = 2
    scaled = value
    while scaled < 0.9995 and decimals < 6:
        decimals, scaled = decimals + 1, scaled * 10
    return three_digits(value) if value >= 0.9995 else f"{value:.{decimals}f}"


def format_figure(value: dict) -> str:
    if value.get("too_few"):
        return " ".join(text for text in format_thin(value["thin"]) if text)
    return format_time(value["ns"]) if "ns" in value else f"≥ {format_time(value['at_least_ns'])}"


def format_thin(thin: dict) -> tuple[str, str]:
    """Formats a percentile with few samples and its interval.

    Bounds have the unit of the value and omit it.
    """
    at = thin.get("ns", thin.get("at_least_ns"))
    unit = format_time(at).split(" ")[1]

    def bound(ns: int | None) -> str:
        return "?" if ns is None else format_in_unit(ns, unit)

    if "ns" not in thin:
        return f"≥ {format_time(at)}?", f"(from {bound(thin['low_ns'])})" if "low_ns" in thin else ""
    high = bound(thin["high_ns"]) if "high_ns" in thin else f"≥ {bound(thin['largest_ns'])}"
    return f"{format_time(at)}?", f"({bound(thin.get('low_ns'))}–{high})"


def shorten(figures: dict[str, str]) -> dict[str, str]:
    """Returns the figures as in a terminal table, which lists intervals below."""
    short = {name: text.split(" (")[0] for name, text in figures.items()}
    return {name: "too few" if text == f"≥ {short['max']}?" else text for name, text in short.items()}


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def from_markdown(text: str, of: str) -> dict[str, str]:
    found = {}
    for line in text.splitlines():
        if line.startswith(f"| {of} "):
            row = cells(line)
            # An asterisk marks a figure that a criterion judges.
            row = [cell.removesuffix(r" \*") for cell in row]
            found |= dict(zip(("requests", "rate", "errors", "p50", "p90", "p95", "p99"), (row[1:4] + row[5:9]), strict=True))
            found["max"] = row[10]
            found["errors"] = found["errors"].split(" ")[0]
    equations(found, text)
    found["in flight max"] = re.search(r"on average, ([\d,]+) at most", text)[1]
    found["connections"] = re.search(r"([\d,]+) connections? w", text)[1]
    return found


def equations(found: dict[str, str], text: str) -> None:
    text = " ".join(text.split())
    patterns = {
        "issued": r"([\d,]+) issued =",
        "ok": r"([\d,]+) ok \+",
        "failed requests": r"ok \+ ([\d,]+) failed",
        "started": r"([\d,]+) started =",
        "completed": r"([\d,]+) completed \+",
    }
    found |= {name: match[1] for name, pattern in patterns.items() if (match := re.search(pattern, text))}


def from_console(text: str) -> dict[str, str]:
    found = {}
    lines = text.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("response time ") and "requests" in line)
    # The first row has all requests, with any name.
    at, after = head + 1, lines[head].index("requests")
    time = r"too few|≥ [\d.]+ \w+\??|[\d.,]+ (?:ns|µs|ms|s)\b\??|–"
    tokens = re.findall(rf"{time}|[\d.,]+", lines[at][after:])
    found |= dict(zip(("requests", "errors", "rate"), tokens[:3], strict=True))
    found |= dict(zip(("requests", "errors", "rate"), tokens[:3], strict=True))
    # The mean comes first. It is missing if a request had no response.
    times = tokens[4:]
    found |= dict(zip(("p50", "p90", "p95", "p99"), times[:4], strict=True))
    found["max"] = times[5]
    equations(found, text)
    match = re.search(r"In flight +mean [\d.,]+, max ([\d,]+); ([\d,]+) connection", text)
    found["in flight max"], found["connections"] = match[1], match[2]
    return found


def from_page(page) -> dict[str, str]:
    def cell(name: str) -> str:
        heads = page.locator("table.endpoints thead th").all_inner_texts()
        column = next(i for i, head in enumerate(heads) if head.strip().rstrip("↑↓").strip() == name)
        value, *interval = page.locator("table.endpoints tr.total > *").nth(column).inner_text().strip().split("\n")
        # An asterisk marks a figure that a criterion judges.
        value = value.removesuffix(" *")
        return f"{value} ({interval[0]})" if interval else value

    heads = {"requests": "requests", "errors": "errors", "rate": "req/s", "max": "max"}
    found = {name: cell(head) for name, head in heads.items()}
    found |= {name: cell(name) for name in ("p50", "p90", "p95", "p99")}
    plan = page.inner_text("#plan")
    equations(found, plan)
    facts = " ".join(page.inner_text("#concurrency").split())
    found["in flight max"] = re.search(r"requests in flight [\d.,]+ mean, ([\d,]+) max", facts)[1]
    found["connections"] = re.search(r"connections opened ([\d,]+)", facts)[1]
    return found


def from_json(summary: dict) -> dict[str, str]:
    row, requests, arrivals = summary["all"], summary["requests"], summary["arrivals"]
    times = row["response"] or row["service"]
    found = {name: format_figure(times[name]) for name in ("p50", "p90", "p95", "p99", "max")}
    found |= {"requests": format_count(row["count"]), "errors": format_count(row["errors"]), "rate": format_rate(row["per_second"])}
    found |= {
        "issued": format_count(requests["issued"]),
        "ok": format_count(requests["ok"]),
        "failed requests": format_count(requests["failed"]),
    }
    found |= {"in flight max": format_count(summary["in_flight"]["max"]), "connections": format_count(summary["connections_opened"])}
    if arrivals:
        found |= {"started": format_count(arrivals["started"]), "completed": format_count(arrivals["completed"])}
    return found


def native(loadline, start_lab):
    plan = loadline.write("open.yml", OPEN)
    return loadline("run", plan, "--target", start_lab("sum").url, "--verbose").stdout


def closed(loadline, start_lab):
    url = f"{start_lab('sum').url}/api/sum?a=1&b=2"
    return loadline("run", url, "--connections", "4", "--duration", "2s", "--verbose").stdout


def artillery(loadline, start_lab):
    script = loadline.write("mixed.yml", ARTILLERY)
    return loadline("run", script, "--target", start_lab("sum").url, "--verbose").stdout


@pytest.mark.parametrize(("run", "least"), [(native, 14), (closed, 13), (artillery, 14)])
def test_all_reports_have_the_same_figures(loadline, start_lab, browser, run, least):
    console = run(loadline, start_lab)
    record = (loadline.folder / ".loadline/runs/last").resolve()
    page = browser.new_page()
    page.goto((record / "report.html").as_uri())
    page.wait_for_selector("table.endpoints")
    shown = from_page(page)
    page.close()
    summary = json.loads((record / "summary.json").read_text())
    figures = from_json(summary)
    assert len(figures) >= least, "forty in sum"
    labels = summary["labels"]
    of = labels[0]["text"].replace("&", "&amp;") if len(labels) == 1 else "all requests"
    assert from_markdown((record / "report.md").read_text(), of) == figures
    assert from_console(console) == shorten(figures)
    assert shown == figures
