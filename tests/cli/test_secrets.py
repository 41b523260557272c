"""Secrets under names of other people's: from the environment, from answers, in logs and traces; and what the marks tell."""

from __future__ import annotations

import re
import subprocess

import peers

FROM_ENV = "v4lue-of-the-environment"
CAPTURED = "c4ptured/from+the=answer"
LISTED = "l1sted-by-the-plan"


def holds(loadline, text: str) -> str:
    return subprocess.run(["grep", "-rF", text, ".loadline"], cwd=loadline.folder, capture_output=True, text=True).stdout


def peer():
    body = b'{"access_token": "%s", "pin": "%s", "author": "ada"}' % (CAPTURED.encode(), LISTED.encode())
    return peers.Peer(peers.ok(body))


def test_the_environment_answers_and_logs(loadline):
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
        assert not holds(loadline, secret), holds(loadline, secret)
    assert "city-of-london" in logged.stdout
    assert holds(loadline, "city-of-london")
    assert re.search("log ‹redacted:.{6}› ‹redacted:.{6}› ‹redacted:.{6}› city", logged.stdout)
    assert '"author": "ada"' in traced.stdout
    # One credential has one mark in a run, and another one in the next.
    marks = [re.search("log (‹redacted:.{6}›)", run.stdout)[1] for run in (traced, logged)]
    assert f"> x-id: {marks[0]}".lower() in traced.stdout.lower()
    assert marks[0] != marks[1]


def test_artillery_scripts_too(loadline):
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
        assert not holds(loadline, secret), holds(loadline, secret)
