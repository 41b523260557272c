"""The battery in its short form, and its proof: every known sin is found by the case that must find it."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.alone

ROOT = Path(__file__).parent.parent.parent

# The sin, and the case (unchanged) that must catch it.
MUTANTS = {
    "stamp-at-dequeue": ("T2", "--short"),
    "drop-timeouts": ("T20", "--short"),
    "millisecond-timers": ("T5", "--short"),
    "now-plus-period": ("T5", "--short"),
    "averaged-percentiles": ("T1", "--short"),
    "truncated-schedule": ("T5", "--short"),
    "errors-left-out": ("T20", "--short"),
    "skipped-for-unsent": ("T20", "--short"),
}


def test_the_battery(loadline):
    run = loadline("selftest", "--short", timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.endswith("9 passed, 0 failed\n")


def test_a_case_can_be_chosen(loadline):
    run = loadline("selftest", "T19")
    assert run.returncode == 0
    assert run.stdout.startswith("pass  T19")
    unknown = loadline("selftest", "T99")
    assert unknown.returncode == 2
    assert "T1, T1b, T2" in unknown.stderr


def test_the_product_knows_no_mutants(loadline):
    run = loadline("selftest", "T19", env={"LOADLINE_MUTANT": "drop-timeouts"})
    assert run.returncode == 0


@pytest.fixture(scope="module")
def mutants(tmp_path_factory) -> Iterator[Path]:
    """A build with the known sins in it, apart from the product; what it shares with the product is not built again."""
    build = ["cargo", "build", "--release", "--locked", "-q", "-p", "loadline"]
    built = ROOT / "target/release/loadline"
    try:
        subprocess.run([*build, "--features", "mutants"], cwd=ROOT, check=True)
        yield Path(shutil.copy(built, tmp_path_factory.mktemp("mutants")))
    finally:
        # Nobody shall find the sinful one where the product lies.
        subprocess.run(build, cwd=ROOT, check=True)


@pytest.mark.long
@pytest.mark.parametrize("sin", MUTANTS)
def test_every_sin_is_found(mutants, sin):
    case, depth = MUTANTS[sin]
    command = [mutants, "selftest", case, depth]

    def run(extra: dict[str, str], *flags: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, **extra}
        return subprocess.run([*command, *flags], env=env, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)

    honest = run({})
    assert honest.returncode == 0, honest.stdout + honest.stderr
    sinful = run({"LOADLINE_MUTANT": sin}, "--once")
    assert sinful.returncode == 1, sinful.stdout + sinful.stderr
    assert f"FAIL  {case}" in sinful.stdout


# At full length what hangs on seconds; at the usual length what hangs on a calm machine. The microseconds of T4 and T5 are
# asserted by whoever runs `loadline selftest` on a machine of their own: a shared one may lose them to its neighbours.
@pytest.mark.long
@pytest.mark.parametrize("cases", ["--full T1 T1b T2 T3", "T6 T19 T20"])
def test_the_battery_in_full(loadline, cases):
    run = loadline("selftest", *cases.split(), timeout=900)
    assert run.returncode == 0, run.stdout + run.stderr
