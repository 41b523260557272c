"""Provides Debian's Chromium as a fixture.

A plugin of the whole suite; Playwright is imported on first use only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from required_tools import tool_path

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=tool_path("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()
