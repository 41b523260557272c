"""`loadline compare`: groups of runs, single runs, results of other tools, and records."""

from __future__ import annotations

import json
import random
import re

import pytest

# Runs of the same service differ by about one percent.
SPREAD = [1.000, 1.012, 0.991, 1.004, 0.995]


def artillery(p50: float, p99: float, failed: int = 0) -> str:
    """Returns an Artillery report with 10,000 requests."""
    counters = {
        "vusers.created": 10_000,
        "vusers.completed": 10_000,
        "vusers.failed": 0,
        "http.requests": 10_000,
        "http.responses": 10_000,
        "http.codes.200": 10_000 - failed,
    }
    if failed:
        counters["http.codes.500"] = failed
    times = {"min": 1, "max": 2 * p99, "count": 10_000, "mean": p50, "p50": p50, "p95": (p50 + p99) / 2, "p99": p99}
    aggregate = {
        "counters": counters,
        "rates": {"http.request_rate": 1000},
        "firstMetricAt": 1795178069000,
        "lastMetricAt": 1795178079000,
        "summaries": {"http.response_time": times},
    }
    return json.dumps({"aggregate": aggregate, "intermediate": []})


def group(loadline, name: str, p50: float, p99: float, failed: int = 0, runs: int = 5) -> str:
    """Writes the files of a group of similar runs. Returns their names, separated by commas."""
    names = [f"{name}{i}.json" for i in range(runs)]
    for file, by in zip(names, SPREAD, strict=False):
        loadline.write(file, artillery(round(p50 * by, 1), round(p99 * by, 1), failed))
    return ",".join(names)


def compare(loadline, *args: str):
    ran = loadline("compare", *args, "--json", "compared.json", "--out", "out")
    figures = json.loads((loadline.folder / "compared.json").read_text()) if ran.returncode in (0, 1, 5) else None
    return ran, figures


def line_of(ran, figure: str) -> str:
    return next(line_of for line_of in ran.stdout.splitlines() if line_of.startswith(figure))


def test_group_with_slower_p99_has_regressed(loadline):
    ran, figures = compare(loadline, group(loadline, "a", 100, 400), group(loadline, "b", 100, 480))
    assert ran.returncode == 1
    assert line_of(ran, "p99").endswith("REGRESSED beyond the margin of 5 %")
    assert "+20.0 %  (96.8 %: " in line_of(ran, "p99")
    assert "no change larger than" in line_of(ran, "p50")
    assert "REGRESSED  worse by more than the margin: p99" in ran.stdout
    assert figures["verdict"] == "regressed"
    p99 = next(one for one in figures["judged"] if one["subject"] == "p99")
    low, high = p99["change"]["interval"]
    assert 0.15 < low < 0.2 < high < 0.25
    assert p99["baseline"] == [round(400 * by, 1) * 1e6 for by in SPREAD]
    report = (loadline.folder / "out/report.md").read_text()
    assert "**FAIL** – worse by more than the margin: p99" in report
    assert "![Change with its interval" in report
    assert (loadline.folder / "out/charts/changes.svg").read_text().startswith("<svg")
    assert "<svg" in (loadline.folder / "out/report.html").read_text()


def test_equal_groups_are_no_regression(loadline):
    ran, figures = compare(loadline, group(loadline, "a", 100, 400), group(loadline, "b", 100.5, 401))
    assert ran.returncode == 0
    assert figures["verdict"] == "no_regression"
    assert "PASS  no figure is worse by more than 5 % (errors: 0.1 points)" in ran.stdout


def test_faster_group_is_improved(loadline):
    a, b = group(loadline, "a", 100, 400), group(loadline, "b", 80, 300)
    ran, figures = compare(loadline, a, b, "--metric", "p99", "--metric", "p50")
    assert ran.returncode == 0
    assert [one["outcome"] for one in figures["judged"]] == ["improved", "improved"]
    assert "PASS  better in all judged figures" in ran.stdout


def test_more_errors_are_a_regression(loadline):
    a, b = group(loadline, "a", 100, 400), group(loadline, "b", 100, 400, failed=200)
    ran, _ = compare(loadline, a, b)
    assert ran.returncode == 1
    assert "+2.00 points" in line_of(ran, "errors")
    assert line_of(ran, "errors").endswith("REGRESSED beyond the margin of 0.1 points")
    ran, _ = compare(loadline, a, b, "--error-margin", "3%")
    assert ran.returncode == 0
    assert "PASS  no figure is worse by more than 5 % (errors: 3 points)" in ran.stdout
    # With a margin of zero, equal groups still pass.
    assert compare(loadline, a, group(loadline, "c", 100, 400), "--metric", "errors", "--error-margin", "0%")[0].returncode == 0


def test_change_near_the_margin_is_inconclusive(loadline):
    a, b = group(loadline, "a", 100, 400), group(loadline, "b", 100, 421)
    ran, figures = compare(loadline, a, b)
    assert ran.returncode == 5
    assert line_of(ran, "p99").endswith("INCONCLUSIVE: 5 % is within the interval")
    assert figures["verdict"] == "inconclusive"
    # A wider margin decides.
    assert compare(loadline, a, b, "--margin", "10%")[0].returncode == 0


def test_groups_of_three_give_only_a_hint(loadline):
    a, b = group(loadline, "a", 100, 400, runs=3), group(loadline, "b", 100, 800, runs=3)
    ran, figures = compare(loadline, a, b)
    assert ran.returncode == 5
    assert "Note: a hint: 3 and 3 runs are too few to tell a change from chance. Make at least 4 of each" in " ".join(
        ran.stdout.split()
    )
    assert "(90 %: " in line_of(ran, "p99")
    assert line_of(ran, "p99").endswith("  beyond the margin of 5 %")
    assert figures["method"] == "few_runs"
    ran, _ = compare(loadline, a, b, "--anyway")
    assert ran.returncode == 1
    assert "only a hint: worse by more than the margin: p99" in ran.stdout


@pytest.mark.parametrize(("first", "second"), [(39, 1), (16, 2), (5, 3)])
def test_small_group_against_large_group_is_a_hint(loadline, first, second):
    """A rank interval of one run against forty is confident, but that run may have been paused."""
    names = [f"many{i}.json" for i in range(first)]
    for i, name in enumerate(names):
        loadline.write(name, artillery(100 * SPREAD[i % 5], 400 + i))
    few = group(loadline, "few", 100, 30_000, runs=second)
    ran, figures = compare(loadline, ",".join(names), few, "--metric", "p99")
    assert ran.returncode == 5
    assert figures["method"] == "few_runs"
    assert "only a hint: worse by more than the margin: p99" in ran.stdout


def test_two_runs_against_one_have_no_useful_interval(loadline):
    a, b = group(loadline, "a", 100, 400, runs=2), group(loadline, "b", 100, 800, runs=1)
    ran, _ = compare(loadline, a, b, "--anyway")
    assert ran.returncode == 5
    assert "INCONCLUSIVE: too few runs for a useful interval" in ran.stdout


def test_metric_missing_in_all_runs_does_not_prevent_a_verdict(loadline):
    """A tool that measures whole milliseconds reports zero for both groups."""
    a, b = group(loadline, "a", 0, 400), group(loadline, "b", 0, 401)
    ran, figures = compare(loadline, a, b)
    assert ran.returncode == 0
    assert line_of(ran, "p50").endswith("no change")
    untold = [json.loads((loadline.folder / f"{side}{i}.json").read_text()) for side in "ab" for i in range(5)]
    for i, report in enumerate(untold):
        del report["aggregate"]["counters"]["http.codes.200"]
        loadline.write(f"u{i}.json", json.dumps(report))
    ran, figures = compare(loadline, ",".join(f"u{i}.json" for i in range(5)), ",".join(f"u{i}.json" for i in range(5, 10)))
    assert [one["subject"] for one in figures["judged"]] == ["p50", "p99"]
    assert ran.returncode == 0


def test_single_figures_are_inconclusive_without_interval(loadline):
    a, b = group(loadline, "a", 100, 400, runs=1), group(loadline, "b", 100, 800, runs=1)
    ran, figures = compare(loadline, a, b)
    assert ran.returncode == 5
    assert "+100 %" in line_of(ran, "p99")
    assert "INCONCLUSIVE: no interval, because the random variation is unknown" in ran.stdout
    assert figures["judged"][0]["change"]["interval"] is None


def test_too_many_metrics_for_few_runs_are_reported(loadline):
    a, b = group(loadline, "a", 100, 400, runs=4), group(loadline, "b", 100, 800, runs=4)
    ran, _ = compare(loadline, a, b)
    assert "4 and 4 runs are too few to judge 3 figures together: choose one with --metric, or make more runs" in " ".join(
        ran.stdout.split()
    )
    assert ran.returncode == 5
    assert compare(loadline, a, b, "--metric", "p99")[0].returncode == 1


def test_paused_run_is_named_and_is_no_regression(loadline):
    a, b = group(loadline, "a", 100, 400), group(loadline, "b", 100, 400)
    loadline.write("b2.json", artillery(101, 30_000))
    ran, figures = compare(loadline, a, b)
    assert figures["verdict"] != "regressed"
    said = " ".join(ran.stdout.split())
    assert "b2.json of b0.json and 4 more differs from the other runs in its group: p99 30.0 s" in said


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (
            ["a0.json", "b0.json", "--metric", "p42x"],
            "`p42x` is not a metric; write [service|first-byte|iteration|transaction|first-event|",
        ),
        (["a0.json", "b0.json", "--metric", 'p99 of "POST /ordr"'], '--metric p99 of "POST /ordr": a0.json has no rows of this kind'),
        (["a0.json,", "b0.json"], "`a0.json,` has an empty run name"),
        (["a0.json", "b0.json", "--metric", "in-flight"], "only times, errors, rate and tokens rate of runs can be compared"),
        (["a0.json", "b0.json", "--margin", "5s"], "--margin: `5s` is not a share below 100 %: use, for example, 5%"),
        (["a0.json", "b0.json", "--margin", "five"], "--margin"),
        (["a0.json", "nothing.json"], "no run `nothing.json` in .loadline/runs"),
        (
            ["a0.json", "tag:main"],
            "no run in .loadline/runs has the tag `main`: no run there has one; set one with `loadline run --tag main …`",
        ),
        (["a0.json,b0.json", "b0.json"], "b0.json is on both sides: a run cannot be compared with itself"),
    ],
)
def test_compare_bad_input_is_one_line(loadline, args, says):
    group(loadline, "a", 100, 400, runs=1)
    group(loadline, "b", 100, 400, runs=1)
    ran = loadline("compare", *args)
    assert ran.returncode == 2
    assert len(ran.stderr.splitlines()) == 1
    assert says in ran.stderr


PLAN = """loadline: 1
name: shop
load: {rate: 40/s, duration: 12s}
steps:
  - get: /
"""


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory):
    """Two runs of one plan, against targets that answer after 50 ms and after 100 ms."""
    from conftest import Loadline

    loadline = Loadline(tmp_path_factory.mktemp("two"))
    loadline.write("plan.yml", PLAN)
    for tag, latency in (("main", "50ms"), ("branch", "100ms")):
        target = f"lab:truth?service={latency}"
        ran = loadline("run", "plan.yml", "--target", target, "--tag", tag, "--tag", "all", "--name", f"shop on {tag}")
        assert ran.returncode == 0, ran.stderr
    return loadline


def test_runs_are_found_by_tag_and_by_name(two_runs):
    # The machine is busy during tests, so `--anyway` accepts any measurement.
    ran, figures = compare(two_runs, "tag:main", "tag:branch", "--anyway")
    assert ran.returncode == 1
    assert figures["method"] == "single_runs"
    assert figures["baseline"]["name"] == "tag:main"
    p50 = figures["judged"][0]
    low, high = p50["change"]["interval"]
    assert 0.1 < low <= high
    by_name, again = compare(two_runs, "name:shop on main", "name:shop on branch", "--anyway")
    assert by_name.returncode == 1
    assert again["judged"] == figures["judged"]
    # Resampling is deterministic, and each quantile has its own interval.
    shares = [quantile["share"] for quantile in figures["quantiles"]]
    assert shares[:5] == [0.01, 0.05, 0.1, 0.25, 0.5]
    assert all(quantile["change"]["interval"][0] <= quantile["change"]["estimate"] for quantile in figures["quantiles"])
    assert "<svg" in (two_runs.folder / "out/charts/quantiles.svg").read_text()


def test_hint_alone_is_inconclusive(two_runs):
    ran = two_runs("compare", "tag:main", "tag:branch")
    assert ran.returncode == 5
    assert "only a hint: worse by more than the margin" in ran.stdout + ran.stderr


def test_metric_of_an_unknown_row_is_refused_with_the_known_rows(two_runs):
    ran = two_runs("compare", "tag:main", "tag:branch", "--anyway", "--metric", 'p99 of "GET /orders"')
    assert ran.returncode == 2
    assert re.search(r'--metric p99 of "GET /orders": \S+ has no such row; available: "GET /"$', ran.stderr.strip())


def test_environment_sets_name_and_tags(two_runs):
    env = {"LOADLINE_NAME": "of the environment", "LOADLINE_TAGS": "ci, nightly"}
    target = ("--target", "lab:truth", "--rate", "20/s", "--duration", "1s")
    for flags, name, tags in (
        ((), "of the environment", {"ci", "nightly"}),
        (("--name", "of the flag", "--tag", "mine"), "of the flag", {"mine", "ci", "nightly"}),
    ):
        ran = two_runs("run", "plan.yml", *target, *flags, env=env)
        assert ran.returncode == 0, ran.stderr
        manifest = json.loads((two_runs.folder / ".loadline/runs/last/manifest.json").read_text())
        assert manifest["name"] == name
        assert set(manifest["about"]["tags"]) == tags


def test_environment_sets_name_and_tags_of_compatibility_commands(two_runs, start_lab):
    url = start_lab("truth").url
    ran = two_runs("wrk", "-t1", "-c1", "-d1s", url, env={"LOADLINE_NAME": "by wrk", "LOADLINE_TAGS": "wrk"})
    assert ran.returncode == 0, ran.stderr
    manifest = json.loads((two_runs.folder / ".loadline/runs/last/manifest.json").read_text())
    assert (manifest["name"], manifest["about"]["tags"]) == ("by wrk", ["wrk"])


def test_different_loads_are_reported(two_runs):
    two_runs.write("other.yml", PLAN.replace("40/s, duration: 12s", "50/s, duration: 2s"))
    ran = two_runs("run", "other.yml", "--target", "lab:truth?service=50ms", "--tag", "other")
    assert ran.returncode == 0, ran.stderr
    ran = two_runs("compare", "tag:main", "tag:other")
    assert ran.returncode == 2
    assert "the loads differ: open, 40/s evenly spaced for 12 s in " in ran.stderr
    assert "to compare them regardless, use compare --anyway" in ran.stderr
    ran, figures = compare(two_runs, "tag:main", "tag:other", "--anyway")
    assert any(note.startswith("the loads differ") for note in figures["notes"])


def test_difference_between_plans_is_located(two_runs):
    two_runs.write("steps.yml", PLAN.replace("/\n", "/other\n"))
    ran = two_runs("run", "steps.yml", "--target", "lab:truth?service=50ms", "--tag", "steps")
    assert ran.returncode == 0, ran.stderr
    ran = two_runs("compare", "tag:main", "tag:steps")
    assert ran.returncode == 2
    assert 'the plans differ: scenarios[0].steps[0].request.url.literal is "/" in ' in ran.stderr


def test_tag_with_a_blank_is_refused(two_runs):
    ran = two_runs("run", "plan.yml", "--target", "lab:truth", "--tag", "two words")
    assert ran.returncode == 2
    assert "--tag: `two words` is not a valid tag: use a word without spaces and commas" in ran.stderr


def test_unknown_tag_is_reported_with_the_known_tags(two_runs):
    ran = two_runs("compare", "tag:main", "tag:mian")
    assert ran.returncode == 2
    assert "has the tag `mian`: there are all, branch" in ran.stderr


def jtl(loadline, name: str, seed: int, slow: float) -> str:
    """Writes JMeter results of 600 requests, of which the share `slow` takes five times as long."""
    rng, at = random.Random(seed), 1_700_000_000_000 + seed * 10_000_000
    lines = ["timeStamp,elapsed,label,responseCode,responseMessage,success"]
    for _ in range(600):
        at += 50
        elapsed = 60 + int(rng.expovariate(1 / 12)) + seed % 3
        lines.append(f"{at},{elapsed * (5 if rng.random() < slow else 1)},home,200,OK,true")
    loadline.write(name, "\n".join(lines) + "\n")
    return name


def test_tail_with_few_requests_is_inconclusive_and_named(loadline):
    a = ",".join(jtl(loadline, f"a{seed}.jtl", seed, 0.0) for seed in range(1, 6))
    b = ",".join(jtl(loadline, f"b{seed}.jtl", seed, 0.015) for seed in range(1, 6))
    ran = loadline("compare", a, b)
    assert ran.returncode == 5, ran.stdout + ran.stderr
    words = " ".join(ran.stdout.split())
    assert "cannot tell whether p99 became worse" in words
    assert "no figure is worse" not in words
    # A metric with enough requests is decided if it is named alone.
    ran = loadline("compare", a, b, "--metric", "p90")
    assert ran.returncode == 0, ran.stdout + ran.stderr
