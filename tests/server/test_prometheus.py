"""A real Prometheus that scrapes a service under load."""

import json

import pytest


def values(loadline, source: str) -> dict[str, list[tuple[int, float]]]:
    lines = (loadline.folder / ".loadline/runs/last/server.jsonl").read_text().splitlines()
    found: dict[str, list[tuple[int, float]]] = {}
    for sample in map(json.loads, lines):
        if sample["source"] == source:
            for key, value in sample.get("metrics", {}).items():
                found.setdefault(key, []).append((sample["t"], value))
    return found


def test_prometheus_samples_are_placed_by_its_own_clock(loadline, serve, prometheus):
    service = serve()
    asked = prometheus(service.url)
    loadline.write(
        "plan.yml",
        f"""loadline: 1
target: {service.url}
load: {{ rate: 30/s, duration: 8s }}
server:
  rate: {{ from: "{asked}", query: 'rate(served_total[3s])' }}
steps:
  - get: /stock
""",
    )
    run = loadline(
        *("run", "plan.yml", "--server", f"total=promql:{asked} served_total", "--check", "server.rate.value max > 15"),
        *("--check", "server.rate.value max < 60", "--stop", "server.total.value > 1000000 for 2s"),
    )
    assert run.returncode == 0, run.stdout + run.stderr
    ((of, samples),) = values(loadline, "rate").items()
    assert of.startswith("value{instance=127.0.0.1:")
    assert of.endswith(",job=shop,path=/stock}")
    # A step is a second of Prometheus' clock: whole seconds since 1970, independent of the run's
    # start.
    moments = [at for at, _ in samples]
    assert len(moments) >= 4, samples
    assert {later - before for before, later in zip(moments, moments[1:], strict=False)} == {1_000_000_000}
    # A counter only grows, and ends near the number of requests.
    (total,) = values(loadline, "total").values()
    counts = [count for _, count in total]
    assert counts == sorted(counts)
    assert counts[-1] >= 100


@pytest.mark.parametrize(
    ("query", "stop", "said"),
    [
        (
            "served_total",
            "server.p.value > 1 for 9s",
            "has one sample every 5 s, the scrape interval of its Prometheus server: use `for 10 s` or longer",
        ),
        ("rate(served_total", None, "p: Prometheus returned an error: "),
        ('"text"', None, "p: the result is text: use a query that returns numbers"),
    ],
)
def test_query_that_can_never_be_judged_is_refused(loadline, serve, prometheus, query, stop, said):
    service = serve(connections=1)
    asked = prometheus(service.url, interval="5s" if stop else "1s")
    flags = ("--stop", stop) if stop else ()
    run = loadline("run", f"{service.url}/stock", "--duration", "1s", "--server", f"p=promql:{asked} {query}", *flags)
    assert run.returncode == 2, run.stdout + run.stderr
    assert said in run.stderr


def test_unreachable_prometheus_is_a_gap_and_empty_result_is_noted(loadline, serve, prometheus):
    service = serve(connections=1)
    asked = prometheus(service.url)
    run = loadline(
        *("run", f"{service.url}/stock", "--rate", "5/s", "--duration", "3s", "--server", "p=promql:http://127.0.0.1:1 up"),
        *("--server", f"q=promql:{asked} nothing_is_called_so"),
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "p: it cannot be measured yet; queries use steps of 15 s: " in run.stderr
    assert "GET 127.0.0.1:1/api/v1/query: connection refused" in run.stderr
    assert "q: no series matches the query at the moment: check the metric name and labels" in run.stderr
    assert values(loadline, "q") == {}
    notes = loadline.summary()["notes"]
    assert "q: no value was reported during the run" in notes


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ("  p: { from: 'redis://h', query: up }", "a Prometheus server needs an http:// or https:// URL"),
        ("  p: { from: 'http://h', query: '' }", "`query` is empty"),
        ("  p: 'promql:http://h'", "the query is missing"),
        ("  p: 'postgres://shop@h/shop?sslmode=maybe'", "`maybe` is not an sslmode"),
    ],
)
def test_prometheus_bad_input_is_reported_at_its_place(loadline, server, said):
    loadline.write(
        "plan.yml",
        f"loadline: 1\ntarget: http://127.0.0.1:1\nload: {{ rate: 1/s, duration: 1s }}\nserver:\n{server}\nsteps:\n  - get: /\n",
    )
    run = loadline("run", "plan.yml")
    assert run.returncode == 2
    assert "plan.yml:5:" in run.stderr
    assert said in run.stderr
