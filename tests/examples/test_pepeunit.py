"""The example that publishes as Pepeunit's units, against its lab, for a shorter time than its file has."""

import json
from pathlib import Path

ENV = Path(__file__).parent.parent.parent / "examples/pepeunit/mqtt.env"


def test_every_message_of_the_units_is_kept(loadline, start_lab):
    lab = start_lab("pepeunit", "flush=100ms")
    loadline.write(".env", ENV.read_text())
    env = {"PU_DOMAIN": lab.url.removeprefix("http://")}
    ran = loadline("mqtt", "--duration", 1, "--connect-rate", 200, "--settle", "60s", timeout=110, env=env)
    assert ran.returncode in (0, 4), ran.stderr
    found = json.loads((loadline.folder / ".loadline/runs/last/found.json").read_text())
    kept = found["kept"]["all"]
    assert (found["due"], kept["kept"], kept["lost"], kept["right"]) == (600, 600, 0, 20)
