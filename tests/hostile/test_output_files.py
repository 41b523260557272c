"""Commands that make several runs try their output files before the first, and do not repeat a run
that nothing answers.
"""

import ports
import pytest

PLAN = """
loadline: 1
target: {}
load: {{ rate: 20/s, duration: 1s }}
steps: [ {{ get: / }} ]
"""


@pytest.mark.parametrize("flag", ["--json", "--markdown", "--junit"])
def test_gate_tries_its_output_files_before_its_first_run(loadline, start_lab, flag) -> None:
    lab = start_lab("truth")
    plan = loadline.write("plan.yml", PLAN.format(lab.url))
    ended = loadline("gate", plan, "--save-baseline", "main", "--runs-each", "2", flag, "nowhere/gate.out")
    assert ended.returncode == 3, ended.stderr
    assert "cannot write nowhere/gate.out: No such file or directory" in ended.stderr
    assert lab.stats()["received"]["total"] == 0


def test_find_and_ab_try_their_output_files_before_their_first_run(loadline, start_lab) -> None:
    lab = start_lab("truth")
    plan = loadline.write("plan.yml", PLAN.format(lab.url))
    for command in (
        ("find", plan, "--slo", "p99 < 1s"),
        ("ab", plan, "--a", lab.url, "--b", lab.url),
    ):
        ended = loadline(*command, "--json", "nowhere/out.json")
        assert ended.returncode == 3, ended.stderr
        assert "cannot write nowhere/out.json: No such file or directory" in ended.stderr
    assert lab.stats()["received"]["total"] == 0


def test_gate_gives_dead_target_one_run(loadline) -> None:
    plan = loadline.write("plan.yml", PLAN.format(f"http://127.0.0.1:{ports.free()}"))
    ended = loadline("gate", plan, "--save-baseline", "main", "--runs-each", "4")
    assert ended.returncode == 3, ended.stderr
    assert "run 1 of 4" in ended.stderr
    assert "run 2 of 4" not in ended.stderr
    assert len(list((loadline.folder / ".loadline/runs").glob("2*"))) == 1
