"""The page of a run with several workloads."""

from __future__ import annotations

WORKLOADS = [
    {
        "name": "orders",
        "model": "open",
        "text": "20/s evenly spaced for 2 min",
        "start_ns": 0,
        "end_ns": 120_000_000_000,
        "planned": 2400,
        "users": None,
        "ended": 2400,
        "completed": 2390,
        "failed": 10,
    },
    {
        "name": "browsing",
        "model": "closed",
        "text": "after 30 s, 20 users for 1 min",
        "start_ns": 30_000_000_000,
        "end_ns": 90_000_000_000,
        "planned": None,
        "users": 20,
        "ended": 300,
        "completed": 300,
        "failed": 0,
    },
]


def scenario(name: str, workload: str, planned: int | None, ended: int) -> dict:
    return {
        "id": 1,
        "name": name,
        "workload": workload,
        "share": 1,
        "planned": planned,
        "planned_per_hour": None,
        "planned_per_second": None,
        "ended": ended,
        "completed": ended,
        "failed": 0,
        "unfinished": 0,
        "completed_per_hour": 1.0,
        "completed_per_second": 1.0,
        "of_plan": None,
    }


def mix(data: dict) -> None:
    summary = data["summary"]
    summary["run"]["model"] = "mixed"
    summary["workloads"] = WORKLOADS
    summary["scenarios"] = [scenario("order", "orders", 2400, 2400), scenario("browse", "browsing", None, 300)]


def test_page_shows_workloads_and_their_scenarios(open_report) -> None:
    opened = open_report("healthy", mix)
    section = opened.page.locator("#plan")
    tables = section.locator("table")
    texts = [" ".join(text.split()) for text in tables.all_inner_texts()]
    workloads = next(text for text in texts if text.startswith("workload model"))
    assert "orders 20/s evenly spaced for 2 min open 0 s 2 min 2,400 – 2,400 2,390 10" in workloads
    assert "browsing after 30 s, 20 users for 1 min closed loop 30 s 1 min 30 s – 20 300 300 0" in workloads
    scenarios = next(text for text in texts if text.startswith("scenario workload"))
    assert "order orders 2,400" in scenarios
    assert "browse browsing –" in scenarios
    assert "Iterations of closed loops are not arrivals." in section.inner_text()
    trust = opened.page.locator(".trust").first.inner_text()
    assert "stall p99" in trust
    assert "lateness p99" in trust
    assert opened.errors == []
    assert opened.errors == []


def test_page_of_one_load_has_no_workloads(open_report) -> None:
    section = open_report("healthy").page.locator("#plan")
    assert "Workloads" not in section.inner_text()
    assert "not arrivals" not in section.inner_text()
