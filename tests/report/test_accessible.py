"""axe-core finds no moderate, serious or critical problem, in light and dark mode, on wide and narrow
screens.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT
from playwright.sync_api import Page

AXE = ROOT / "web/node_modules/axe-core/axe.min.js"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["healthy", "erroring", "generator-limited", "empty"])
def test_axe_finds_no_serious_problem(kind: str, scheme: str, open_report) -> None:
    opened = open_report(kind, color_scheme=scheme)
    opened.charts()
    if kind == "erroring":
        opened.page.get_by_role("button", name="GET /", exact=True).click()
    assert grave_problems(opened.page) == []


def grave_problems(page: Page) -> list:
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        (v["id"], v["impact"], [n["target"] for n in v["nodes"]][:5])
        for v in found["violations"]
        if v["impact"] in ("moderate", "serious", "critical")
    ]


@pytest.mark.parametrize("width", [400, 800])
def test_narrow_window_does_not_scroll_sideways(width: int, open_report) -> None:
    opened = open_report("erroring", viewport={"width": width, "height": 800})
    opened.charts()
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


def decision_pages(loadline, url: str) -> dict[str, Path]:
    """Returns the pages of a campaign, a gate, a comparison, a history and a search."""

    def run(*args: object, codes: tuple[int, ...] = (0,)) -> None:
        ran = loadline(*args, timeout=120)
        assert ran.returncode in codes, ran.stdout + ran.stderr

    head = (
        f"loadline: 1\nname: shop\ntarget: {url}\ncriteria: [p95 < 1s, service p95 < 900ms, errors < 1%]\nsteps: [{{ get: /order }}]\n"
    )
    loadline.write("plan.yml", f"{head}load: {{ rate: 1500/s, duration: 100ms }}\n")
    rates = {"half": 50, "whole": 100}
    stages = [f"  - {{ name: {name}, load: {{ rate: {rate}/s, duration: 1s }}, on-fail: continue }}\n" for name, rate in rates.items()]
    loadline.write("stages.yml", f"{head}cool-down: false\nstages:\n{''.join(stages)}")
    any_verdict = (0, 1, 4, 5)
    run("campaign", "stages.yml", codes=any_verdict)
    run("gate", "plan.yml", "--runs-each", "3", "--save-baseline", "main", codes=any_verdict)
    gate = ("gate", "plan.yml", "--runs-each", "3", "--baseline", "main")
    run(*gate, "--out", "gate", codes=any_verdict)
    for tag in ("before", "after"):
        run("run", "plan.yml", "--tag", tag, codes=any_verdict)
    run("compare", "tag:before", "tag:after", "--anyway", "--out", "compared", codes=any_verdict)
    run("history", "p50", "--html", "history.html", codes=any_verdict)
    find = ("--budget", "20s", "--probe", "3s", "--settle", "1s", "--max", "40/s", "--out", "found")
    run("find", url, "--slo", "p95 < 900ms", *find, codes=any_verdict)
    folder = loadline.folder
    pages = {name: folder / name / "report.html" for name in ("gate", "compared", "found")}
    campaign = folder / ".loadline/campaigns/last/report.html"
    return {**pages, "campaign": campaign, "history": folder / "history.html"}


def test_pages_of_decisions_share_one_design_without_grave_problems(loadline, start_lab, browser) -> None:
    lab = start_lab("truth", "mode=constant", "service=20ms")
    for name, path in decision_pages(loadline, lab.url).items():
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": 1200, "height": 800}, color_scheme=scheme)
            page.goto(path.as_uri())
            assert grave_problems(page) == [], (name, scheme)
            assert page.locator("main").count() == page.locator("header h1").count() == 1, name
            assert page.locator("nav.contents a").count() > 1, name
            page.set_viewport_size({"width": 400, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= 400, (name, scheme)
            page.emulate_media(media="print")
            assert page.locator("nav.contents").is_hidden(), name
            page.close()
