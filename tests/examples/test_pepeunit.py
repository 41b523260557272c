"""The example that publishes as Pepeunit's units, against its lab, for a shorter time than its file has."""

import json
from pathlib import Path

ENV = Path(__file__).parent.parent.parent / "examples/pepeunit/mqtt.env"


def test_every_message_of_the_units_is_kept(loadline, start_lab):
    lab = start_lab("pepeunit", "flush=100ms")
    loadline.write(".env", ENV.read_text())
    env = {"PU_DOMAIN": lab.url.removeprefix("http://")}
    ran = loadline("mqtt", "--duration", 1, "--connect-rate", 200, "--settle", "60s", timeout=110, env=env)
    assert ran.returncode == 0, ran.stderr
    found = json.loads((loadline.folder / ".loadline/runs/last/found.json").read_text())
    kept = found["kept"]["all"]
    assert (found["due"], kept["kept"], kept["lost"], kept["right"]) == (600, 600, 0, 20)


def test_rest_beside_messages_is_one_run(loadline):
    plan = (ENV.parent / "mixed.yml").read_text()
    # A third of its length.
    short = plan.replace("duration: 6s", "duration: 2s").replace("duration: 30s", "duration: 10s")
    assert short.count("duration: 2s") == 5
    loadline.write("mixed.yml", short)
    ran = loadline("run", "mixed.yml", timeout=110)
    # Whether it was fast enough is the machine's affair; what it counted is not.
    assert ran.returncode in (0, 1, 5), ran.stdout + ran.stderr
    told = json.loads((loadline.folder / ".loadline/runs/last/found.json").read_text())["mqtt"]
    assert told["planned"] == told["due"] == told["sent"] == told["confirmed"] > 10_000
    assert told["received"] == told["expected"] == 2 * told["sent"]
    summary = loadline.summary()
    rows = {row["text"]: row["count"] for row in summary["labels"]}
    assert rows["GET /pepeunit/api/v1/metrics/"] == summary["arrivals"]["completed"] == 400
