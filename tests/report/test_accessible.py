"""axe-core finds no moderate, serious or critical problem, in light and dark mode, on wide and narrow
screens.
"""

from __future__ import annotations

import pytest
from conftest import ROOT

AXE = ROOT / "web/node_modules/axe-core/axe.min.js"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["healthy", "erroring", "generator-limited", "empty"])
def test_axe_finds_no_serious_problem(kind: str, scheme: str, open_report) -> None:
    opened = open_report(kind, color_scheme=scheme)
    opened.charts()
    if kind == "erroring":
        opened.page.get_by_role("button", name="GET /", exact=True).click()
    opened.page.evaluate(AXE.read_text())
    found = opened.page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    grave = [
        (v["id"], v["impact"], [n["target"] for n in v["nodes"]][:5])
        for v in found["violations"]
        if v["impact"] in ("moderate", "serious", "critical")
    ]
    assert grave == []


@pytest.mark.parametrize("width", [400, 800])
def test_narrow_window_does_not_scroll_sideways(width: int, open_report) -> None:
    opened = open_report("erroring", viewport={"width": width, "height": 800})
    opened.charts()
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
