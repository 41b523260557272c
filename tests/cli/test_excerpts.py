"""Records without response excerpts: by plan, by flag, by environment variable; and what is still
reported.
"""

import json

import pytest
from fake_servers import RecordingServer, Request

PLAN = """loadline: 1
name: Pay
target: {url}
{excerpts}load: {{ rate: 20/s, duration: 1s }}
scenarios:
  - steps:
      - get: {{ url: /patients/1, capture: {{ next: $.next }} }}
      - get: 'http://{{{{ next }}}}/'
  - steps:
      - get: {{ url: /patients/1, check: {{ json: {{ $.name: Nobody }} }} }}
  - steps:
      - get: /patients/2
"""


def ward(request: Request) -> tuple[int, dict[str, str], bytes]:
    said = {"name": "Ada Lovelace", "next": "ada lovelace"}
    return (503 if request.path.endswith("2") else 200), {"content-type": "application/json"}, json.dumps(said).encode()


def run_and_read_all(loadline, *flags: str, excerpts: str = "", env: dict[str, str] | None = None) -> tuple[str, str]:
    """Returns the terminal output and the contents of all files in the run's folder."""
    with RecordingServer(ward) as target:
        plan = loadline.write("pay.yml", PLAN.format(url=target.url, excerpts=excerpts))
        # With the fixed seed, every kind of failure occurs once.
        run = loadline("run", plan, "--seed", "1", *flags, env=env or {})
    assert run.returncode in (0, 3), run.stderr
    folder = (loadline.folder / ".loadline/runs/last").resolve()
    written = [path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file()]
    return run.stdout + run.stderr, "\n".join(written)


def test_excerpts_are_stored_by_default(loadline) -> None:
    shown, stored = run_and_read_all(loadline)
    assert "Lovelace" in shown
    assert "Lovelace" in stored
    assert "not stored in the record" not in shown


@pytest.mark.parametrize("way", ["plan", "flag", "environment"])
def test_record_without_excerpts_contains_no_response_text(loadline, way) -> None:
    flags = ("--no-excerpts",) if way == "flag" else ()
    excerpts = "excerpts: false\n" if way == "plan" else ""
    env = {"LOADLINE_EXCERPTS": "off"} if way == "environment" else None
    shown, stored = run_and_read_all(loadline, *flags, excerpts=excerpts, env=env)
    for text in (shown, stored):
        assert "lovelace" not in text.lower()
        # Failures, their numbers and places are still reported.
        assert "check json" in text
        assert "status 503" in text
        assert "excerpts of responses are not stored in the record" in text


def test_environment_disables_excerpts_of_compatibility_commands(loadline) -> None:
    script = """
config: {{ target: '{url}', phases: [ {{ duration: 1, arrivalCount: 4 }} ] }}
scenarios:
  - flow: [ {{ get: {{ url: /patients/2, capture: {{ json: $.none, as: x }} }} }} ]
"""
    with RecordingServer(ward) as target:
        path = loadline.write("ward.yml", script.format(url=target.url))
        run = loadline("artillery", "run", path, env={"LOADLINE_EXCERPTS": "off"})
    assert run.returncode == 0, run.stderr
    folder = (loadline.folder / ".loadline/runs/last").resolve()
    stored = [path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file()]
    assert not any("lovelace" in text.lower() for text in stored)
    wrong = loadline("artillery", "run", path, env={"LOADLINE_EXCERPTS": "no"})
    assert "LOADLINE_EXCERPTS must be `on` or `off`, not `no`" in wrong.stderr
    assert wrong.returncode != 0


def test_once_prints_excerpts_on_the_terminal_only(loadline) -> None:
    shown, stored = run_once_and_read_all(loadline)
    assert "Lovelace" in shown
    assert "Lovelace" not in stored


def run_once_and_read_all(loadline) -> tuple[str, str]:
    plan = "loadline: 1\ntarget: {url}\nexcerpts: false\nload: {{ rate: 1/s, duration: 1s }}\nsteps: [ {{ get: /patients/2 }} ]\n"
    with RecordingServer(ward) as target:
        run = loadline("run", loadline.write("one.yml", plan.format(url=target.url)), "--once")
    assert run.returncode == 1, run.stderr
    folder = (loadline.folder / ".loadline/runs/last").resolve()
    return run.stdout, "\n".join(path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())
