"""Fixtures that open the built report page in Chromium, filled with data, as a file."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

WEB = Path(__file__).parent.parent.parent / "web"
RESULTS = WEB / "test-results"
PLACE = "__LOADLINE_PAGE__"
# The number of visible charts with nothing drawn.
UNDRAWN = """[...document.querySelectorAll('.chart:not([hidden])')]
    .filter(c => !c.closest('[hidden]') && !c.querySelector('canvas')).length"""


@pytest.fixture(scope="session")
def template() -> str:
    return (WEB / "dist/report.html").read_text()


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """Returns a folder with a JSON file per fixture."""
    folder = RESULTS / "fixtures"
    subprocess.run(["npm", "run", "--silent", "fixtures", "--", folder], cwd=WEB, check=True, timeout=120)
    return folder


class OpenedPage:
    """A page that logs no console error and sends no request except to `allowed`."""

    undrawn = UNDRAWN

    def __init__(self, context: BrowserContext, allowed: str) -> None:
        self.page: Page = context.new_page()
        self.errors: list[str] = []
        self.strays: list[str] = []
        self.page.on("console", lambda message: message.type in ("error", "warning") and self.errors.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

        def gate(route) -> None:
            if route.request.url.startswith(allowed):
                return route.continue_()
            self.strays.append(route.request.url)
            return route.abort()

        context.route("**/*", gate)

    def charts(self) -> list:
        """Returns the visible charts after all are drawn."""
        self.page.wait_for_function(f"() => {UNDRAWN} === 0")
        return self.page.locator(".chart:visible").all()


OpenReport = Callable[..., OpenedPage]


@pytest.fixture
def open_report(browser: Browser, template: str, fixtures: Path, tmp_path: Path) -> Iterator[OpenReport]:
    """Opens a fixture's report. `change` may edit its data first."""
    contexts = []

    def open_(name: str, change: Callable[[dict], None] | None = None, **options) -> OpenedPage:
        data = json.loads((fixtures / f"{name}.json").read_text())
        if change:
            change(data)
        text = json.dumps(data).replace("<", "\\u003c")
        path = tmp_path / f"{name}.html"
        path.write_text(template.replace(PLACE, text))
        context = browser.new_context(**{"viewport": {"width": 1600, "height": 1000}, **options})
        contexts.append(context)
        opened = OpenedPage(context, path.as_uri())
        opened.page.goto(path.as_uri())
        opened.page.wait_for_selector("h1")
        return opened

    yield open_
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def results() -> Path:
    """Returns the folder for screenshots."""
    RESULTS.mkdir(exist_ok=True)
    return RESULTS
