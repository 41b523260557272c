"""The example that publishes like Pepeunit's units, against its lab, for a shorter time."""

import json
from pathlib import Path

ENV = Path(__file__).parent.parent.parent / "examples/pepeunit/mqtt.env"


def test_every_message_of_the_units_is_stored(loadline, start_lab):
    lab = start_lab("pepeunit", "flush=100ms")
    loadline.write(".env", ENV.read_text())
    env = {"PU_DOMAIN": lab.url.removeprefix("http://")}
    ran = loadline("mqtt", "--duration", 1, "--connect-rate", 200, "--settle", "60s", timeout=110, env=env)
    assert ran.returncode == 0, ran.stderr
    found = json.loads((loadline.folder / ".loadline/runs/last/found.json").read_text())
    kept = found["stored"]["all"]
    assert (found["due"], kept["stored"], kept["lost"], kept["right"]) == (600, 600, 0, 20)


def test_rest_and_messages_run_together(loadline):
    plan = (ENV.parent / "mixed.yml").read_text()
    # A third of its length.
    short = plan.replace("duration: 6s", "duration: 2s").replace("duration: 30s", "duration: 10s")
    assert short.count("duration: 2s") == 5
    loadline.write("mixed.yml", short)
    ran = loadline("run", "mixed.yml", timeout=110)
    # Only counts are checked, so the machine may be slow.
    assert ran.returncode in (0, 1, 5), ran.stdout + ran.stderr
    ledger = json.loads((loadline.folder / ".loadline/runs/last/found.json").read_text())["mqtt"]
    assert ledger["planned"] == ledger["due"] == ledger["sent"] == ledger["confirmed"] > 10_000
    assert ledger["received"] == ledger["expected"] == 2 * ledger["sent"]
    summary = loadline.summary()
    rows = {row["text"]: row["count"] for row in summary["labels"]}
    assert rows["GET /pepeunit/api/v1/metrics/"] == summary["arrivals"]["completed"] == 400
