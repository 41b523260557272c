"""The Medplum example with both commands, and at full length with the counts of the published
report.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent.parent.parent / "examples/medplum"
TOKEN = "a-token-that-must-not-be-seen"
ENV = {"FHIR_TOKEN": TOKEN}


def answered(lab) -> tuple[int, dict[str, int]]:
    stats = lab.stats()
    assert stats["received"]["total"] == stats["answered"]["total"]
    return stats["answered"]["total"], stats["answered"]["by_code"]


def assert_no_token(loadline, *outputs: str) -> None:
    grep = subprocess.run(["grep", "-r", TOKEN, ".loadline"], cwd=loadline.folder, capture_output=True)
    assert grep.returncode == 1, grep.stdout
    assert not any(TOKEN in output for output in outputs)


def test_demo_runs(loadline):
    run = loadline("demo", timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "288 planned = 288 started" in run.stdout
    assert "8,640 issued = 8,640 ok" in run.stdout
    assert re.search(r"^measurement (VALID|DEGRADED|INVALID)  ", run.stdout, re.M)
    assert (loadline.folder / ".loadline/runs/last/manifest.json").exists()


def test_patient_round_sends_its_requests(loadline, start_lab):
    lab = start_lab("fhir", "--token", TOKEN)
    run = loadline("run", EXAMPLE / "fhir.yml", "--target", lab.url, "--rate", "10/s", "--duration", "2s", env=ENV)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "20 started = 20 completed + 0 failed + 0 abandoned" in run.stdout
    assert answered(lab) == (600, {"200": 400, "201": 200})
    assert_no_token(loadline, run.stdout, run.stderr)


def test_wrong_token_fails_every_request(loadline, start_lab):
    lab = start_lab("fhir", "--token", TOKEN)
    script = EXAMPLE / "fhir.yml"
    run = loadline("artillery", "run", script, "-s", "--target", lab.url, env={"FHIR_TOKEN": "wrong"})
    assert run.returncode == 0
    assert re.search(r"^http.codes.401: \.+ 1$", run.stdout, re.M)
    assert re.search(r"^errors.Failed capture or match: \.+ 1$", run.stdout, re.M)


# Every metric of the published summaries that can occur here.
NAMES = ["http.codes.200", "http.request_rate", "http.requests", "http.response_time", "http.responses"]
NAMES += ["vusers.completed", "vusers.created", "vusers.created_by_name.", "vusers.failed", "vusers.session_length"]


@pytest.mark.long(seconds=310)
def test_medplum_at_full_length_has_the_published_counts(loadline, start_lab):
    started = []
    for script, scenario, users, requests in [
        ("healthcheck.yml", "Healthcheck", 16_600, 166_000),
        ("fhir.yml", "FHIR Datastore", 1_900, 57_000),
    ]:
        lab = start_lab("fhir", "--token", TOKEN)
        output = f"{script}.json"
        env = {**os.environ, **ENV}
        process = loadline.start("artillery", "run", EXAMPLE / script, "--target", lab.url, "-o", output, env=env)
        started.append((process, lab, output, scenario, users, requests))
    for process, lab, output, scenario, users, requests in reversed(started):
        out, err = process.communicate(timeout=500)
        assert process.returncode == 0, err
        counters = json.loads((loadline.folder / output).read_text())["aggregate"]["counters"]
        assert counters["vusers.created"] == counters["vusers.completed"] == users
        assert counters["http.requests"] == counters["http.responses"] == requests == answered(lab)[0]
        assert counters[f"vusers.created_by_name.{scenario}"] == users
        assert counters["vusers.failed"] == 0
        summary = out.split("Summary report @")[-1]
        for name in NAMES:
            assert f"\n{name}" in summary
        assert_no_token(loadline, out, err)
