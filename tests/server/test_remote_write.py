"""`--export remote-write`: a real Prometheus has the figures of the record."""

import json
import urllib.parse
import urllib.request

PLAN = """
loadline: 1
name: adding
target: http://unused.invalid
load: [{rate: 100/s, duration: 7s}]
scenarios:
  - name: adding
    steps: [{get: /api/sum?a=1&b=2}, {get: /nowhere}]
"""


def query(url: str, promql: str) -> list[dict]:
    with urllib.request.urlopen(f"{url}/api/v1/query?{urllib.parse.urlencode({'query': promql})}", timeout=10) as answer:
        return json.load(answer)["data"]["result"]


def test_prometheus_has_the_figures_of_the_record(loadline, start_lab, remote_write):
    lab = start_lab("sum")
    export = f"remote-write={remote_write.replace('//', '//me:hunter2@')}/api/v1/write"
    run = loadline("run", loadline.write("plan.yml", PLAN), "--target", lab.url, "--export", export)
    assert run.returncode == 0, run.stderr
    summary = loadline.summary()
    assert not [note for note in summary["notes"] if "remote-write" in note]
    manifest = (loadline.folder / ".loadline/runs/last/manifest.json").read_text()
    assert "hunter2" not in manifest + run.stdout + run.stderr
    manifest = json.loads(manifest)
    of_run = f'job="loadline",run_id="{manifest["run_id"]}"'

    def values(metric: str, labels: str = "") -> list[list[float]]:
        found = query(remote_write, f"{metric}{{{of_run},{labels}}}[1m]")
        return [[float(value) for _, value in series["values"]] for series in found]

    ((*earlier, last),) = values("loadline_arrivals_total", 'state="started"')
    assert last == 700
    # An export at the start, every five seconds, and at the end.
    assert len(earlier) >= 2
    assert earlier[0] == 0
    assert earlier == sorted(earlier)
    for label in summary["labels"]:
        name = f'label="{label["text"]}"'
        for code, n in label["codes"].items():
            ((*_, last),) = values("loadline_responses_total", f'{name},code="{code}"')
            assert last == n
        ((*_, last),) = values("loadline_request_duration_seconds_count", name)
        assert last == label["count"]
        ((*_, last),) = values("loadline_request_duration_seconds_bucket", f'{name},le="+Inf"')
        assert last == label["count"]
    ((*_, running),) = values("loadline_running")
    assert running == 0
    # The series end with the run.
    assert query(remote_write, f"loadline_running{{{of_run}}}") == []


def test_wrong_path_is_refused_before_any_request(loadline, start_lab, remote_write):
    lab = start_lab("sum")
    flags = ("--rate", "10/s", "--duration", "1s", "--export", f"remote-write={remote_write}/api/v1/nowhere")
    run = loadline("run", f"{lab.url}/api/sum", *flags)
    assert run.returncode == 3
    assert run.stderr == "loadline: --export remote-write: the receiver takes no metrics at this path (404)\n"
    assert lab.stats()["answered"]["total"] == 0
