"""A run that uses up every file descriptor in its first second keeps its record."""

import resource

import fake_servers

PLAN = """
loadline: 1
target: {}
load: {{rate: 200/s, duration: 2s}}
steps: [{{get: /}}]
"""


def test_the_record_is_kept_when_descriptors_run_out(loadline) -> None:
    def few_descriptors() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))

    with fake_servers.FakeServer(fake_servers.never_answer) as peer:
        plan = loadline.write("plan.yml", PLAN.format(peer.url))
        run = loadline.start("run", plan, "--drain", "1s", preexec_fn=few_descriptors)
        _, err = run.communicate(timeout=60)
    assert "the record ends" not in err
    assert "not recorded" not in err
    summary = loadline.summary()
    assert summary["requests"]["none_by_class"]["generator"] > 100
    record = loadline.folder / ".loadline/runs/last"
    ends = sum('"end":true' in line for line in (record / "counters.jsonl").read_text().splitlines())
    assert ends >= 3
    again = loadline("report", "last")
    assert f"{summary['requests']['issued']} issued" in again.stdout
