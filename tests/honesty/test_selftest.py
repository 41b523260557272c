"""The self-test in its short form, and its proof: every mutant is found by its case."""

import os
import subprocess

import pytest
from conftest import LOADLINE

pytestmark = [pytest.mark.alone, pytest.mark.timed]


# The mutant, and the case (unchanged, in its short form) that must find it.
MUTANTS = {
    "stamp-at-dequeue": "T2",
    "drop-timeouts": "T20",
    "millisecond-timers": "T5",
    "now-plus-period": "T5",
    "averaged-percentiles": "T1",
    "truncated-schedule": "T5",
    "errors-left-out": "T20",
    "skipped-for-unsent": "T20",
    "runs-counted-often": "T12",
    "independent-requests": "T14",
    "warm-up-kept": "T11",
    "peak-without-evidence": "T15",
    "waiting-counted-as-served": "T16",
}


def test_selftest_case_can_be_selected(loadline):
    run = loadline("selftest", "T19")
    assert run.returncode == 0
    assert run.stdout.startswith("pass  T19")
    unknown = loadline("selftest", "T99")
    assert unknown.returncode == 2
    assert "T1, T1b, T2" in unknown.stderr


# Computed and simulated figures with fixed seeds, identical on every machine.
DECISIONS = {
    "T11": [
        "5 ms + 45 ms × exp(−t / 10 s): cut between 25 and 60 s, p50 after the cut 5 ms ± 2 %",
        "from 5 to 10 ms in 120 s: drifting",
        "from 5 to 6 ms at 60 s: shifting, at 60 ± 3 s",
        "5 ms: steady from the first second on",
        "1,100/s to a server of 1,000/s: overload within 15 s",
    ],
    "T12": [
        "5 runs differ from 5 equal ones",
        "5 % more detected, with 2 % between runs",
        "one run paused for 30 s: regressions",
        "one run paused for 30 s: named",
    ],
    "T13": [
        "+7 % at run 40 of 60, found at 40 ± 1",
        "shifts found in 20 flat histories of 100 runs",
        "flat histories of 60 runs with a shift found, neighbours correlated at 0.6",
    ],
    "T14": [
        *(
            f"{service}{what}"
            for service in (
                "1 × 1 ms exponential, p99 < 20 ms: 769.7/s",
                "4 × 10 ms exponential, p99 < 60 ms: 299.8/s",
                "4 × 10 ms exponential, p99 < 100 ms: 350.1/s",
                "8 × 100 ms exponential, p95 < 400 ms: 68.4/s",
                "8 × 50 ms fixed, p99 < 200 ms: 145.7/s",
                "8 × 50 ms lognormal, p99 < 250 ms: 137.2/s",
                "limiter of 40/s that answers 429, errors < 5 %: 30.7/s",
                "30 connections of 300 ms, errors < 1 %: 67.8/s",
            )
            for what in (", off by (median)", ", in the interval")
        ),
        "8 × 50 ms fixed, even arrivals, p99 < 200 ms: 160/s, off by (median)",
        "8 × 50 ms, 2 % slower after every 1,000 requests: no answer, it drifts",
    ],
    "T15": ["peak at 21.8 users ± 15 %", "peak of 739.8/s ± 5 %", "no peak reported if there is none"],
    "T16": ["places of a pool of 8 that take 50 ms each", "its plateau"],
}


def test_selftest_passes_and_prints_the_figures_of_decisions(loadline):
    run = loadline("selftest", "--short", timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    findings_by_case: dict[str, list[str]] = {}
    for line in run.stdout.splitlines():
        if line.startswith("pass  "):
            findings = findings_by_case.setdefault(line.split()[1], [])
        elif "  expected " in line:
            findings.append(line.split("  expected ")[0].strip())
    assert {case: findings_by_case[case] for case in DECISIONS} == DECISIONS
    assert run.stdout.endswith("16 passed, 0 failed\n")


def run_case(case: str, *flags: str, **extra: str) -> subprocess.CompletedProcess[str]:
    command = [LOADLINE, "selftest", case, "--short", *flags]
    env = {**os.environ, **extra}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)


@pytest.mark.proof
@pytest.mark.parametrize("case", sorted(set(MUTANTS.values())))
def test_case_passes_without_a_mutant(case):
    honest = run_case(case)
    assert honest.returncode == 0, honest.stdout + honest.stderr


@pytest.mark.proof
@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutant_is_found_by_its_case(mutant):
    case = MUTANTS[mutant]
    run = run_case(case, "--once", LOADLINE_MUTANT=mutant)
    assert run.returncode == 1, run.stdout + run.stderr
    assert f"FAIL  {case}" in run.stdout


# Cases that depend on seconds run at full length, cases that need a calm machine at the usual one.
# The microseconds of T4 and T5 are checked by `loadline selftest` on a dedicated machine only.
@pytest.mark.proof
@pytest.mark.parametrize("cases", ["--full T1 T1b T2 T3", "T6 T19 T20", "T11 T12 T13 T14 T15 T16"])
def test_selftest_passes_at_full_length(loadline, cases):
    run = loadline("selftest", *cases.split(), timeout=900)
    assert run.returncode == 0, run.stdout + run.stderr
