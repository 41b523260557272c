"""Secrets from the environment and from responses stay out of logs, traces and records."""

from __future__ import annotations

import re
import subprocess

import fake_servers

FROM_ENV = "v4lue-of-the-environment"
CAPTURED = "c4ptured/from+the=answer"
LISTED = "l1sted-by-the-plan"


def grep_record(loadline, text: str) -> str:
    return subprocess.run(["grep", "-rF", text, ".loadline"], cwd=loadline.folder, capture_output=True, text=True).stdout


def peer():
    body = b'{"access_token": "%s", "pin": "%s", "author": "ada"}' % (CAPTURED.encode(), LISTED.encode())
    return fake_servers.FakeServer(fake_servers.ok_with(body))


def test_secrets_from_environment_and_responses_are_redacted(loadline):
    plan = """
loadline: 1
target: TARGET
load: {rate: 1/s, duration: 1s}
secrets: [pin]
variables: {x: "{{ $env.API_TOKEN }}", plain: "{{ $env.CITY }}"}
steps:
  - get: {url: /login, headers: {X-Id: "{{ x }}"}, capture: {tok: $.access_token, pin: $.pin}}
  - log: "log {{ x }} {{ tok }} {{ pin }} {{ plain }}"
  - get: "/with/{{ tok }}/{{ pin }}"
"""
    env = {"API_TOKEN": FROM_ENV, "CITY": "city-of-london"}
    with peer() as server:
        path = loadline.write("p.yml", plan.replace("TARGET", server.url))
        traced = loadline("run", path, "--once", "--trace", env=env)
        logged = loadline("run", path, "--once", env=env)
    for secret in (FROM_ENV, CAPTURED, LISTED, "c4ptured%2F"):
        assert secret not in traced.stdout + traced.stderr + logged.stdout + logged.stderr, secret
        assert not grep_record(loadline, secret), grep_record(loadline, secret)
    assert "city-of-london" in logged.stdout
    assert grep_record(loadline, "city-of-london")
    assert re.search("log ‹redacted:.{6}› ‹redacted:.{6}› ‹redacted:.{6}› city", logged.stdout)
    assert '"author": "ada"' in traced.stdout
    # A credential has one mark per run, and another in the next run.
    marks = [re.search("log (‹redacted:.{6}›)", run.stdout)[1] for run in (traced, logged)]
    assert f"> x-id: {marks[0]}".lower() in traced.stdout.lower()
    assert marks[0] != marks[1]


def test_secrets_in_artillery_scripts_are_redacted(loadline):
    script = """
config:
  target: TARGET
  variables: {x: "{{ $processEnvironment.API_TOKEN }}"}
  phases: [{duration: 1, arrivalCount: 1}]
  plugins: {metrics-by-endpoint: {useOnlyRequestNames: false}}
before:
  flow: [{log: "before {{ x }}"}]
scenarios:
  - flow:
      - get: {url: "/login?id={{ x }}", capture: {json: $.access_token, as: tok}}
      - log: "log {{ x }} {{ tok }}"
      - get: {url: "/with/{{ tok }}"}
"""
    with peer() as server:
        path = loadline.write("s.yml", script.replace("TARGET", server.url))
        run = loadline("artillery", "run", path, "-o", "out.json", env={"API_TOKEN": FROM_ENV})
    assert run.returncode == 0, run.stdout + run.stderr
    assert "before ‹redacted:" in run.stdout
    assert "log ‹redacted:" in run.stdout
    for secret in (FROM_ENV, CAPTURED):
        assert secret not in run.stdout + run.stderr + (loadline.folder / "out.json").read_text(), secret
        assert not grep_record(loadline, secret), grep_record(loadline, secret)
