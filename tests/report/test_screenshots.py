"""Screenshots of the page for reviewers, kept in web/test-results/."""

from __future__ import annotations

from pathlib import Path

import pytest

VIEWS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "narrow": {"viewport": {"width": 400, "height": 900}},
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(
    "kind", ["healthy", "overloaded", "erroring", "generator-limited", "closed", "all-errors", "killed", "single", "empty"]
)
def test_screenshots_are_taken(kind: str, view: str, open_report, results: Path) -> None:
    opened = open_report(kind, **VIEWS[view])
    opened.charts()
    path = results / f"{kind}-{view}.png"
    opened.page.screenshot(path=path, full_page=True)
    assert path.stat().st_size > 10_000
    assert opened.errors == []
