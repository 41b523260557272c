"""The product of `make build`: small, and without the mutants of test builds."""

import os
import subprocess
from pathlib import Path

import pytest
from conftest import LOADLINE

pytestmark = [pytest.mark.proof, pytest.mark.alone]

MAX_BYTES = 25_000_000


@pytest.fixture
def product() -> Path:
    path = os.environ.get("PRODUCT")
    assert path, "PRODUCT names the binary of `make build`; `make test-long` sets it"
    return Path(path).resolve()


def exit_code(binary: Path, defect: str) -> int:
    env = {**os.environ, "LOADLINE_MUTANT": defect}
    return subprocess.run([binary, "selftest", "T19"], env=env, stdout=subprocess.DEVNULL, timeout=60, check=False).returncode


def test_product_is_small(product):
    assert product.stat().st_size <= MAX_BYTES


def test_product_has_no_known_defects(product):
    assert exit_code(LOADLINE, "no-such-defect") == 2
    assert exit_code(product, "no-such-defect") == 0
    assert b"lateness-forgiven" not in product.read_bytes()
