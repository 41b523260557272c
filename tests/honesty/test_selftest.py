"""The battery in its short form, and its proof: every known sin is found by the case that must find it."""

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.alone

ROOT = Path(__file__).parent.parent.parent

# The sin, and the case (unchanged, in its short form) that must catch it.
MUTANTS = {
    "stamp-at-dequeue": "T2",
    "drop-timeouts": "T20",
    "millisecond-timers": "T5",
    "now-plus-period": "T5",
    "averaged-percentiles": "T1",
    "truncated-schedule": "T5",
    "errors-left-out": "T20",
    "skipped-for-unsent": "T20",
}


def test_the_battery(loadline):
    run = loadline("selftest", "--short", timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.endswith("10 passed, 0 failed\n")


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
def mutants() -> Path:
    """A build with the known sins in it, apart from the product."""
    subprocess.run(["make", "mutants"], cwd=ROOT, check=True)
    return ROOT / "target/mutants/loadline"


def a_case(binary: Path, case: str, *flags: str, **extra: str) -> subprocess.CompletedProcess[str]:
    command = [binary, "selftest", case, "--short", *flags]
    env = {**os.environ, **extra}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)


@pytest.mark.long
@pytest.mark.parametrize("case", sorted(set(MUTANTS.values())))
def test_the_same_build_without_a_sin_passes(mutants, case):
    honest = a_case(mutants, case)
    assert honest.returncode == 0, honest.stdout + honest.stderr


@pytest.mark.long
@pytest.mark.parametrize("sin", MUTANTS)
def test_every_sin_is_found(mutants, sin):
    case = MUTANTS[sin]
    sinful = a_case(mutants, case, "--once", LOADLINE_MUTANT=sin)
    assert sinful.returncode == 1, sinful.stdout + sinful.stderr
    assert f"FAIL  {case}" in sinful.stdout


# At full length what hangs on seconds; at the usual length what hangs on a calm machine. The microseconds of T4 and T5 are
# asserted by whoever runs `loadline selftest` on a machine of their own: a shared one may lose them to its neighbours.
@pytest.mark.long
@pytest.mark.parametrize("cases", ["--full T1 T1b T2 T3", "T6 T19 T20"])
def test_the_battery_in_full(loadline, cases):
    run = loadline("selftest", *cases.split(), timeout=900)
    assert run.returncode == 0, run.stdout + run.stderr
