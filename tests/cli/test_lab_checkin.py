"""The check-in lab as a target: its counts agree with the run, and its instances are lines in the
charts.
"""

import json

import ports
from conftest import Loadline

PLAN = """
loadline: 1
target: {target}
load: {{ count: 12, duration: 1s }}
server:
  puma: {{ from: "{control}/stats", only: [worker_status.*], counters: "*requests_count" }}
  app: {{ from: "{control}/metrics", only: [puma_*, checkin_*, instance_cpu_ratio] }}
steps:
  - get: {{ url: '/check_in/v2/sessions/{{{{ $uuid }}}}', name: /sessions, check: {{ json: {{ $.permissions: read.none }} }} }}
  - post: {{ url: /check_in/v2/sessions, json: {{ uuid: '{{{{ $uuid }}}}' }}, capture: {{ id: $.id }} }}
  - get: {{ url: '/check_in/v2/pre_check_ins/{{{{ id }}}}', name: /pre_check_ins, check: {{ json: {{ $.id: '{{{{ id }}}}' }} }} }}
  - patch: {{ url: /check_in/v2/demographics, json: {{ id: '{{{{ id }}}}' }} }}
  - post: {{ url: /check_in/v2/pre_check_ins, json: {{ id: '{{{{ id }}}}' }} }}
criteria:
  - server.puma.worker_status.last_status.max_threads of "2" <= 4
"""


def test_checkin_lab_agrees_with_the_run_and_shows_instances(loadline: Loadline, start_lab):
    control = ports.free()
    lab = start_lab("checkin", "instances=3", "threads=4", "hold=20ms", "cpu=1ms", f"control-port={control}")
    plan = PLAN.format(target=lab.url, control=f"http://127.0.0.1:{control}")
    run = loadline("run", loadline.write("plan.yml", plan))
    assert run.returncode in (0, 5), run.stderr
    summary, counted = loadline.summary(), lab.stats()
    assert summary["requests"]["ok"] == summary["requests"]["issued"] == counted["answered"]["total"] == 60
    assert counted["checkin"].pop("pool_wait")["taken_up"] == 60
    assert counted["checkin"] == {"sessions": 12, "check_ins": 0, "pre_check_ins": 12, "demographics": 12}
    lines = (loadline.folder / ".loadline/runs/last/server.jsonl").read_text().splitlines()
    named = {f"{sample['source']}.{name}" for sample in map(json.loads, lines) for name in sample.get("metrics", {})}
    for instance in range(3):
        assert f"puma.worker_status.last_status.backlog{{{instance}}}" in named
        assert f"puma.worker_status.last_status.pool_capacity{{{instance}}}" in named
        assert f"app.puma_thread_pool_capacity{{instance={instance}}}" in named


def test_checkin_lab_calls_another_lab(loadline: Loadline, start_lab):
    downstream = start_lab("truth", "mode=constant")
    lab = start_lab("checkin", "--downstream", f"lorota={downstream.url}", "--downstream", f"chip={downstream.url}", "cpu=0")
    run = loadline("run", f"{lab.url}/check_in/v2/sessions/somebody", "--rate", "20/s", "--duration", "1s")
    assert run.returncode == 0, run.stderr
    assert downstream.stats()["answered"]["total"] == lab.stats()["answered"]["total"] == 20
    refused = loadline("lab", "checkin", "--downstream", "vista=http://127.0.0.1:1")
    assert refused.returncode == 2
    assert "lorota, chip" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
