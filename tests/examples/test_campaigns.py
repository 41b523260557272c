"""The campaigns of the case studies: their load is the study's, and their short versions have its
results.
"""

import json
import re
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
STUDIES = ["vets-checkin", "url-shortener", "medplum"]


def _without_times(study: str, name: str) -> list[str]:
    """Returns the lines of a plan without durations and without its head comment."""
    text = (EXAMPLES / study / name).read_text()
    text = re.sub(r"(duration|at-most|for): \d+(s|m|h)(?=[ ,}])", r"\1", text)
    # The short version overrides the lengths in Artillery's files, and its windows are too short
    # for timeouts.
    text = re.sub(r" --overrides, '[^']*',", "", text)
    text = text.replace("p95 > 1s for 3s: stop fail", "errors > 5% for 5s: stop fail")
    return [line for line in text.splitlines() if not line.startswith("#")]


@pytest.mark.parametrize("study", STUDIES)
def test_full_campaign_equals_the_short_one_except_for_durations(study: str):
    assert _without_times(study, "campaign-full.yml") == _without_times(study, "campaign.yml")


def _phases(loadline, study: str) -> list[dict]:
    result = loadline("plan", EXAMPLES / study / "campaign-full.yml", "--json", "plan.json")
    assert result.returncode == 0, result.stderr
    return json.loads((loadline.folder / "plan.json").read_text())["profile"]["phases"]


def test_full_shortener_campaign_has_the_studys_load(loadline):
    phases = _phases(loadline, "url-shortener")
    rates = [round(phase["to_per_second"]) for phase in phases]
    assert rates == [20, 20, 520, 20, 30, 780, 30]
    assert {phase["end_ns"] - phase["start_ns"] for phase in phases} == {600 * 10**9}


def test_full_checkin_campaign_runs_an_hour_per_stage(loadline):
    phases = _phases(loadline, "vets-checkin")
    assert [round(phase["to_per_second"], 1) for phase in phases] == [10.0, 25.0, 50.1, 75.1]
    assert [(phase["end_ns"] - phase["start_ns"]) // 10**9 for phase in phases] == [600, 3600, 3600, 3600]


def _campaign(loadline, study: str) -> tuple[int, str, dict]:
    ran = loadline("campaign", EXAMPLES / study / "campaign.yml", "--folder", loadline.folder / "campaign", timeout=280)
    folder = loadline.folder / "campaign/last"
    result = json.loads((folder / "campaign.json").read_text())
    return ran.returncode, (folder / "report.md").read_text(), result


@pytest.mark.long(seconds=140)
@pytest.mark.alone
@pytest.mark.paced
def test_checkin_campaign_fails_at_the_requested_load(loadline):
    code, paper, result = _campaign(loadline, "vets-checkin")
    verdicts = [stage["verdict"] for stage in result["stages"]]
    assert (code, verdicts) == (1, ["PASS", "PASS", "FAIL", "NOT RUN"]), paper
    assert "First resource to saturate: thread pool" in paper
    assert "held by lorota" in paper


@pytest.mark.long(seconds=140)
@pytest.mark.alone
@pytest.mark.paced
def test_shortener_campaign_passes(loadline):
    code, paper, result = _campaign(loadline, "url-shortener")
    assert (code, {stage["verdict"] for stage in result["stages"]}) == (0, {"PASS"}), paper
    assert "Proceed" in paper


@pytest.mark.long(seconds=140)
@pytest.mark.alone
@pytest.mark.paced
def test_medplum_campaign_passes_after_scaling_the_bottleneck(loadline):
    code, paper, result = _campaign(loadline, "medplum")
    verdicts = [stage["verdict"] for stage in result["stages"]]
    assert (code, verdicts) == (0, ["FAIL", "PASS", "PASS", "FAIL", "PASS"]), paper
    first = [pair["figures"][-1] for pair in result["comparisons"]]
    assert [figure["name"] for figure in first] == ["Saturated first"] * 2
    assert first[0]["before"] in ("CPU (servers)", "CPU quota (servers)"), paper
    assert (first[1]["before"], first[1]["after"]) == ("CPU (database)", "nothing"), paper
