"""Runs scripts with a processor, for tests."""

from __future__ import annotations

import json

import fake_servers

SCRIPT = """config:
  target: {url}
  processor: ./{processor}
  phases: [{{ duration: 1, arrivalCount: {count} }}]
{config}
{rest}
"""


class Outcome:
    """What a run sent, counted and printed."""

    def __init__(self, loadline, peer, done) -> None:
        self.requests = peer.requests
        self.lines = peer.lines
        self.code = done.returncode
        self.stdout = done.stdout
        self.stderr = done.stderr
        output = loadline.folder / "out.json"
        self.aggregate = json.loads(output.read_text())["aggregate"] if output.exists() else {}

    @property
    def counters(self) -> dict:
        return self.aggregate["counters"]

    @property
    def errors(self) -> dict:
        return {name.removeprefix("errors."): n for name, n in self.counters.items() if name.startswith("errors.")}


def write(loadline, name: str, text: str) -> None:
    """Writes a file and its folders."""
    (loadline.folder / name).parent.mkdir(parents=True, exist_ok=True)
    loadline.write(name, text)


def run(
    loadline, code: str, rest: str, *, count: int = 1, processor: str = "helpers.js", config: str = "", env=None, reply=None, flags=()
) -> Outcome:
    """Runs a script with a processor. `rest` is YAML from `scenarios` on."""
    loadline.write(processor, code)
    with fake_servers.RecordingServer(reply) as peer:
        script = loadline.write("s.yml", SCRIPT.format(url=peer.url, processor=processor, count=count, config=config, rest=rest))
        done = loadline("artillery", "run", script, "-o", "out.json", *flags, env=env)
        return Outcome(loadline, peer, done)
