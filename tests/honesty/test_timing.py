"""Measurements that must be VALID on this machine: the generator keeps its own times.

The target holds each response for a second, so that lateness up to 50 ms is allowed.
"""

import pytest

pytestmark = [pytest.mark.alone, pytest.mark.timed]

SLOW = "truth?mode=constant&service=1s"


def verdict(loadline) -> str:
    return loadline.summary()["measurement"]["verdict"]


def test_open_run_is_valid(loadline):
    ended = loadline("run", f"lab:{SLOW}", "--rate", "50/s", "--duration", "4s")
    assert (ended.returncode, verdict(loadline)) == (0, "VALID"), ended.stdout + ended.stderr


def test_closed_run_is_valid(loadline):
    ended = loadline("run", f"lab:{SLOW}", "--users", "20", "--duration", "4s")
    assert (ended.returncode, verdict(loadline)) == (0, "VALID"), ended.stdout + ended.stderr


def test_run_on_two_nodes_is_valid(loadline, start_lab):
    lab = start_lab("truth", "mode=constant", "service=1s")
    ended = loadline("run", lab.url, "--rate", "50/s", "--duration", "4s", "--on", "local", "--nodes", "2")
    assert (ended.returncode, verdict(loadline)) == (0, "VALID"), ended.stdout + ended.stderr


def test_wrk_run_with_a_rate_is_valid(loadline, start_lab):
    lab = start_lab("truth", "mode=constant", "service=1s")
    ended = loadline("wrk", "-t1", "-c60", "-d4s", "-R50", lab.url)
    assert (ended.returncode, verdict(loadline)) == (0, "VALID"), ended.stdout + ended.stderr


def test_artillery_run_is_valid(loadline, start_lab):
    lab = start_lab("truth", "mode=constant", "service=1s")
    phases = "phases: [ { duration: 4, arrivalRate: 50 } ]"
    scenarios = "scenarios: [ { flow: [ { get: { url: / } } ] } ]"
    script = f"config: {{ target: '{lab.url}', {phases} }}\n{scenarios}\n"
    ended = loadline("artillery", "run", loadline.write("script.yml", script))
    assert (ended.returncode, verdict(loadline)) == (0, "VALID"), ended.stdout + ended.stderr
