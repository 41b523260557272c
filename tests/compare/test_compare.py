"""Runs beside each other: groups of five, groups too small, one with one; what other tools left, and records of our own."""

from __future__ import annotations

import json

import pytest

# How runs of the same thing differ: a hundredth or so.
SPREAD = [1.000, 1.012, 0.991, 1.004, 0.995]


def artillery(p50: float, p99: float, failed: int = 0) -> str:
    """A report of Artillery's, of 10,000 requests."""
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
    """Files of runs that differ as runs do; what names them all."""
    names = [f"{name}{i}.json" for i in range(runs)]
    for file, by in zip(names, SPREAD, strict=False):
        loadline.write(file, artillery(round(p50 * by, 1), round(p99 * by, 1), failed))
    return ",".join(names)


def compare(loadline, *args: str):
    ran = loadline("compare", *args, "--json", "compared.json", "--out", "out")
    figures = json.loads((loadline.folder / "compared.json").read_text()) if ran.returncode in (0, 1, 5) else None
    return ran, figures


def line(ran, figure: str) -> str:
    return next(line for line in ran.stdout.splitlines() if line.startswith(figure))


def test_a_group_that_is_worse_has_regressed(loadline):
    ran, figures = compare(loadline, group(loadline, "a", 100, 400), group(loadline, "b", 100, 480))
    assert ran.returncode == 1
    assert line(ran, "service p99").endswith("REGRESSED beyond the margin of 5 %")
    assert "+20.0 %  (96.8 %: " in line(ran, "service p99")
    assert "no change larger than" in line(ran, "service p50")
    assert "REGRESSED  worse by more than the margin: service p99" in ran.stdout
    assert figures["verdict"] == "regressed"
    p99 = next(one for one in figures["judged"] if one["subject"] == "service p99")
    low, high = p99["change"]["interval"]
    assert 0.15 < low < 0.2 < high < 0.25
    assert p99["baseline"] == [round(400 * by, 1) * 1e6 for by in SPREAD]
    report = (loadline.folder / "out/report.md").read_text()
    assert "**FAIL** – worse by more than the margin: service p99" in report
    assert "![Change with its interval" in report
    assert (loadline.folder / "out/charts/changes.svg").read_text().startswith("<svg")
    assert "<svg" in (loadline.folder / "out/report.html").read_text()


def test_the_same_is_no_regression(loadline):
    ran, figures = compare(loadline, group(loadline, "a", 100, 400), group(loadline, "b", 100.5, 401))
    assert ran.returncode == 0
    assert figures["verdict"] == "no_regression"
    assert "PASS  nothing is worse by more than 5 %" in ran.stdout


def test_what_is_better_is_said_to_be(loadline):
    a, b = group(loadline, "a", 100, 400), group(loadline, "b", 80, 300)
    ran, figures = compare(loadline, a, b, "--metric", "service p99", "--metric", "service p50")
    assert ran.returncode == 0
    assert [one["outcome"] for one in figures["judged"]] == ["improved", "improved"]
    assert "PASS  better in all that is judged" in ran.stdout


def test_more_errors_are_a_regression(loadline):
    a, b = group(loadline, "a", 100, 400), group(loadline, "b", 100, 400, failed=200)
    ran, _ = compare(loadline, a, b)
    assert ran.returncode == 1
    assert "+2.00 points" in line(ran, "errors")
    assert line(ran, "errors").endswith("REGRESSED beyond the margin of 0.1 points")
    assert compare(loadline, a, b, "--error-margin", "3%")[0].returncode == 0


def test_between_is_neither(loadline):
    a, b = group(loadline, "a", 100, 400), group(loadline, "b", 100, 421)
    ran, figures = compare(loadline, a, b)
    assert ran.returncode == 5
    assert line(ran, "service p99").endswith("INCONCLUSIVE: 5 % lies within the interval")
    assert figures["verdict"] == "inconclusive"
    # The margin is the user's.
    assert compare(loadline, a, b, "--margin", "10%")[0].returncode == 0


def test_too_few_runs_give_a_hint_and_decide_nothing(loadline):
    a, b = group(loadline, "a", 100, 400, runs=3), group(loadline, "b", 100, 800, runs=3)
    ran, figures = compare(loadline, a, b)
    assert ran.returncode == 5
    assert "Note: a hint: 3 and 3 runs are too few for an interval of 95 %, which takes 4 of each" in " ".join(ran.stdout.split())
    assert "(90 %: " in line(ran, "service p99")
    assert line(ran, "service p99").endswith("  beyond the margin of 5 %")
    assert figures["method"] == "few_runs"
    assert compare(loadline, a, b, "--anyway")[0].returncode == 1


def test_one_figure_of_each_says_nothing_of_chance(loadline):
    a, b = group(loadline, "a", 100, 400, runs=1), group(loadline, "b", 100, 800, runs=1)
    ran, figures = compare(loadline, a, b)
    assert ran.returncode == 5
    assert "+100 %" in line(ran, "service p99")
    assert "one figure of each: nothing tells what is chance" in ran.stdout
    assert figures["judged"][0]["change"]["interval"] is None


def test_more_figures_than_the_runs_can_show_are_told_of(loadline):
    a, b = group(loadline, "a", 100, 400, runs=4), group(loadline, "b", 100, 800, runs=4)
    ran, _ = compare(loadline, a, b)
    assert "4 and 4 runs can show 1 figure at once, and 3 are judged: name fewer with --metric" in " ".join(ran.stdout.split())
    assert ran.returncode == 5
    assert compare(loadline, a, b, "--metric", "service p99")[0].returncode == 1


def test_a_run_that_was_paused_is_named_and_no_regression(loadline):
    a, b = group(loadline, "a", 100, 400), group(loadline, "b", 100, 400)
    loadline.write("b2.json", artillery(101, 30_000))
    ran, figures = compare(loadline, a, b)
    assert figures["verdict"] != "regressed"
    said = " ".join(ran.stdout.split())
    assert "b2.json of b0.json and 4 more is unlike the other runs of its group: service p99 30.0 s" in said


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["a0.json", "b0.json", "--metric", "p42x"], "--metric"),
        (["a0.json", "b0.json", "--metric", "in-flight"], "runs are compared by times, errors and rate"),
        (["a0.json", "b0.json", "--margin", "5s"], "--margin: `5s` is no share below 100 %: write for example 5%"),
        (["a0.json", "b0.json", "--margin", "five"], "--margin"),
        (["a0.json", "nothing.json"], "no run `nothing.json` in .loadline/runs"),
        (
            ["a0.json", "tag:main"],
            "no run in .loadline/runs has the tag `main`: no run there has one; give it with `loadline run --tag main …`",
        ),
        (["a0.json,b0.json", "b0.json"], "b0.json is on both sides: a run is not compared with itself"),
    ],
)
def test_bad_input_is_one_clear_line(loadline, args, says):
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
    """Two runs of a plan against a target that answers after 50 ms, and against one that takes 80."""
    from conftest import Loadline

    loadline = Loadline(tmp_path_factory.mktemp("two"))
    loadline.write("plan.yml", PLAN)
    for tag, latency in (("main", "50ms"), ("branch", "80ms")):
        target = f"lab:truth?service={latency}"
        ran = loadline("run", "plan.yml", "--target", target, "--tag", tag, "--tag", "all", "--name", f"shop on {tag}")
        assert ran.returncode in (0, 4), ran.stderr
    return loadline


def test_runs_are_found_by_tag_and_by_name(two_runs):
    # Measured on a machine that tests keep busy: a hint, whatever the measurement was like.
    ran, figures = compare(two_runs, "tag:main", "tag:branch", "--anyway")
    assert ran.returncode == 1
    assert figures["method"] == "single_runs"
    assert figures["baseline"]["name"] == "tag:main"
    p50 = figures["judged"][0]
    low, high = p50["change"]["interval"]
    assert 0.4 < low <= high < 0.8
    by_name, again = compare(two_runs, "name:shop on main", "name:shop on branch", "--anyway")
    assert by_name.returncode == 1
    assert again["judged"] == figures["judged"]
    # Resampling draws the same each time, and each quantile has an interval of its own.
    shares = [quantile["share"] for quantile in figures["quantiles"]]
    assert shares[:5] == [0.01, 0.05, 0.1, 0.25, 0.5]
    assert all(0.3 < quantile["change"]["estimate"] < 0.9 for quantile in figures["quantiles"][:5])
    assert "<svg" in (two_runs.folder / "out/charts/quantiles.svg").read_text()


def test_a_hint_decides_nothing_by_itself(two_runs):
    ran = two_runs("compare", "tag:main", "tag:branch")
    assert ran.returncode in (4, 5)
    if ran.returncode == 5:
        assert "only a hint: worse by more than the margin" in ran.stdout


def test_another_load_is_named(two_runs):
    two_runs.write("other.yml", PLAN.replace("40/s, duration: 12s", "50/s, duration: 2s"))
    ran = two_runs("run", "other.yml", "--target", "lab:truth?service=50ms", "--tag", "other")
    assert ran.returncode in (0, 4), ran.stderr
    ran = two_runs("compare", "tag:main", "tag:other")
    assert ran.returncode in (2, 4)
    assert "the loads differ: open, 40/s even for 12 s in " in ran.stderr
    assert "leave that run out, or compare --anyway" in ran.stderr
    ran, figures = compare(two_runs, "tag:main", "tag:other", "--anyway")
    assert any(note.startswith("the loads differ") for note in figures["notes"])


def test_what_differs_in_a_plan_is_named_by_its_place(two_runs):
    two_runs.write("steps.yml", PLAN.replace("/\n", "/other\n"))
    ran = two_runs("run", "steps.yml", "--target", "lab:truth?service=50ms", "--tag", "steps")
    assert ran.returncode in (0, 4), ran.stderr
    ran = two_runs("compare", "tag:main", "tag:steps")
    assert ran.returncode in (2, 4)
    assert 'the plans differ: scenarios[0].steps[0].request.url.literal is "/" in ' in ran.stderr


def test_a_tag_is_a_word(two_runs):
    ran = two_runs("run", "plan.yml", "--target", "lab:truth", "--tag", "two words")
    assert ran.returncode == 2
    assert "--tag: `two words` is no tag: write a word without blanks and commas" in ran.stderr


def test_a_tag_that_no_run_has_names_those_there_are(two_runs):
    ran = two_runs("compare", "tag:main", "tag:mian")
    assert ran.returncode == 2
    assert "has the tag `mian`: there are all, branch, main" in ran.stderr
