"""Capacity estimates from a campaign: given if the saturated resource scales with instances,
otherwise refused.
"""

import json

import pytest

PLAN = """loadline: 1
name: Check-in
target: lab:checkin?instances=2&threads=8&hold=500ms&background=5%
server: {{ puma: lab:1/metrics }}
http: {{ timeout: 3s }}
scenarios:
  - {{ name: Check-in, volume: 14400/h, steps: [ &get {{ get: '/check_in/v2/sessions/{{{{ $uuid }}}}' }} ] }}
  - {{ name: Pre check-in, volume: 57600/h, steps: [ *get ] }}
criteria: [ errors < 20% ]
stages:
  - {{ name: half, load: {{ level: 0.5x, duration: 5s }} }}
{more}
cool-down: false
tested: {{ instances: 2, background: 5% }}
target-service: {{ instances: {meant}, background: 35% }}
"""
OVERLOAD = "  - { name: much, load: { level: 4x, duration: 14s } }"


def campaign(loadline, meant: int, more: str = "") -> tuple[dict, str]:
    loadline.write("c.yml", PLAN.format(meant=meant, more=more))
    run = loadline("campaign", "c.yml", timeout=120)
    report = json.loads((loadline.folder / ".loadline/campaigns/last/campaign.json").read_text())
    assert report["stages"][0]["verdict"] == "PASS", run.stderr
    return report, " ".join(run.stdout.split())


def test_target_capacity_is_estimated_with_its_assumptions(loadline):
    report, shown = campaign(loadline, 6, OVERLOAD)
    assert report["stages"][1]["verdict"] == "FAIL", shown
    projection = report["projection"]
    estimate = projection["estimate"]
    # 16 threads are held for half a second each, a twentieth of them by other requests; with 48
    # threads others hold 35 %.
    times = (6 * 0.65) / (2 * 0.95)
    assert estimate["times"] == pytest.approx(times)
    assert estimate["resource"] == "thread pool"
    rows = {row["name"]: row for row in estimate["rows"]}
    assert rows["All arrivals"]["measured"] == pytest.approx([10, 80])
    assert rows["All arrivals"]["estimated"] == pytest.approx([10 * times, 80 * times])
    assert rows["Check-in"]["measured"] == pytest.approx([2, 16])
    # By Little's law, with a wide margin.
    low, high = rows["All requests"]["estimated"]
    assert low < 48 * 0.65 / 0.5 < high
    folder = loadline.folder / ".loadline/campaigns/last"
    for text in (shown, (folder / "report.html").read_text(), (folder / "report.md").read_text()):
        plain = " ".join(text.replace("\\", "").split())
        assert "Estimate, not measured: the limit of 6 instances with 35 % used by other load is between" in plain
        assert "is not a confidence interval" in plain
        assert "linearly" in plain
        # The verdict's sentence names the first bottleneck; the sections after it do not repeat it.
        assert "Look at much: First resource to saturate" not in plain


def test_unsupported_estimate_is_refused_with_its_reason(loadline):
    for meant, why in [(2, "no stage failed: the tested service may sustain more"), (9, "they are 4.5 times the tested size")]:
        report, shown = campaign(loadline, meant)
        assert report["projection"]["estimate"] is None
        assert f"The capacity of {meant} instances with 35 % used by other load cannot be estimated: " in shown
        assert why in shown
