"""The example of an Artillery script with a processor."""

import json
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent.parent / "examples/artillery-processor"


def test_processor_signs_requests_and_counts(loadline, start_lab):
    lab = start_lab("sum")
    short = json.dumps({"config": {"phases": [{"duration": 1, "arrivalCount": 4}]}})
    done = loadline("artillery", "run", EXAMPLE / "script.yml", "-t", lab.url, "--overrides", short, "-o", "out.json")
    assert done.returncode == 0, done.stdout + done.stderr
    totals = json.loads((loadline.folder / "out.json").read_text())["aggregate"]
    assert totals["counters"]["http.codes.200"] == 12
    assert totals["counters"]["sums.logins"] == 4
    assert totals["summaries"]["sums.bytes"]["count"] == 12
