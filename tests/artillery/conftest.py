"""Fixtures of the tests that compare with the original Artillery."""

from __future__ import annotations

import pytest
from original_artillery import Artillery


@pytest.fixture(scope="session")
def artillery() -> Artillery:
    installed = Artillery()
    installed.install()
    return installed
