"""The FHIR lab's optional servers, database and cache report figures that match the requests it
received.
"""

import re
import urllib.request

import ports
from conftest import Loadline


def _figures(url: str) -> dict[str, float]:
    text = urllib.request.urlopen(url, timeout=10).read().decode()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_fhir_lab_servers_database_and_cache_count_every_request(loadline: Loadline, start_lab):
    control = ports.free()
    lab = start_lab("fhir", "servers=3", "cpu=2", "database=4", f"control-port={control}")
    run = loadline("run", f"{lab.url}/healthcheck", "--rate", "60/s", "--duration", "2s")
    assert run.returncode == 0, run.stderr
    at = f"http://127.0.0.1:{control}"
    servers, database, cache = (_figures(f"{at}/{path}") for path in ("metrics", "database", "cache"))
    assert lab.stats()["answered"]["total"] == 120
    assert [servers[f'http_requests_total{{instance="{number}"}}'] for number in range(3)] == [40, 40, 40]
    assert [servers[f'instance_cores{{instance="{number}"}}'] for number in range(3)] == [2, 2, 2]
    assert not any(name.startswith("container_") for name in servers)
    assert (database["instance_cores"], database["database_queries_total"]) == (4, 120)
    assert (cache["instance_cores"], cache["cache_commands_total"]) == (1, 120)
    # 120 draws with a mean of 0.265 ms, within five standard errors.
    busy = sum(value for name, value in servers.items() if name.startswith("process_cpu_seconds_total"))
    assert abs(busy / (120 * 265e-6) - 1) < 5 / 120**0.5
    assert (database["database_active"], database["database_waiting"]) == (0, 0)


def test_fhir_lab_cpu_quota_throttles_and_is_reported(loadline: Loadline, start_lab):
    control = ports.free()
    # Every 10 ms, 2.65 ms of CPU are demanded and 1 ms is granted.
    lab = start_lab("fhir", "cpu=0.1", f"control-port={control}")
    plan = loadline.write(
        "plan.yml",
        f"""loadline: 1
target: {lab.url}
load: {{ rate: 1000/s, duration: 2s }}
steps: [ {{ get: /healthcheck }} ]
server: {{ servers: "http://127.0.0.1:{control}/metrics" }}
""",
    )
    run = loadline("run", plan)
    assert run.returncode == 0, run.stderr
    service = loadline.summary()["all"]["service"]
    # 0.53 s of CPU time at a tenth of a core takes 5.3 s, so the last request waits for more than 3
    # s.
    assert service["max"]["ns"] > 2e9
    figures = _figures(f"http://127.0.0.1:{control}/metrics")
    assert figures['container_cpu_cfs_throttled_seconds_total{instance="0"}'] > 2


def test_fhir_lab_simulates_no_infrastructure_by_default(loadline: Loadline, start_lab):
    lab = start_lab("fhir")
    assert loadline("run", f"{lab.url}/healthcheck", "--rate", "20/s", "--duration", "1s").returncode == 0
    wrong = loadline("lab", "fhir", "cpu=1.5")
    assert wrong.returncode == 2
    assert re.search(r"cpu=1\.5 is not valid: use a whole number of cores", wrong.stderr)
    assert wrong.stderr.count("\n") == 1
