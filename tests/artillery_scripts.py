"""Runs scripts with Artillery and with `loadline artillery` against a server in Node.js."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import fake_servers
from artillery_transcripts import summary_labels
from conftest import Loadline, wait_until
from databases import listens, start_server
from original_artillery import Artillery


class Peer:
    """A server in Node.js, which ends with its `with` block. It logs what it receives."""

    def __init__(self, program: Path, arguments: list[object], listening: list[int]) -> None:
        self.listening = listening
        self.server = start_server("node", program, *arguments)

    def __enter__(self) -> Peer:
        self.server.__enter__()
        wait_until(lambda: all(listens(port) for port in self.listening), "the server")
        return self

    def __exit__(self, *error: object) -> None:
        self.server.__exit__(*error)

    def received(self) -> list[dict]:
        """Returns what clients sent, after they have closed their connections."""

        def log() -> list[dict] | None:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.listening[0]}/__log", timeout=5) as answer:
                entries = json.load(answer)
            return None if any("closed" in entry and entry["closed"] is None for entry in entries) else [entries]

        return wait_until(log, "the end of all connections")[0]


def run_script(tool: str, artillery: Artillery, script: Path, folder: Path, peer: Peer, flags: list[str]) -> dict:
    """Returns what a tool sent, counted and printed."""
    folder.mkdir()
    loadline = Loadline(folder)
    loadline.write("helpers.js", (script.parent / "helpers.js").read_text())
    with peer, fake_servers.closed_port() as closed:
        names = ["HOST", "TLS_HOST"]
        hosts = {"CLOSED_HOST": closed, **dict(zip(names, peer.listening, strict=False))}
        text = script.read_text()
        for host in sorted(hosts, key=len, reverse=True):
            text = text.replace(host, f"127.0.0.1:{hosts[host]}")
        args = ["run", loadline.write("s.yml", text), "-o", "out.json", *flags]
        done = artillery.run(loadline, *args) if tool == "theirs" else loadline("artillery", *args)
        received = peer.received()
    output = folder / "out.json"
    assert output.exists(), done.stdout + done.stderr

    def with_hosts(text: str) -> str:
        for host, port in hosts.items():
            text = text.replace(f"127.0.0.1:{port}", host)
        return text

    return {
        "code": done.returncode,
        "labels": summary_labels(with_hosts(done.stdout)),
        "received": sorted(json.dumps({**entry, "closed": None}, sort_keys=True) for entry in received),
        "aggregate": json.loads(with_hosts(output.read_text()))["aggregate"],
    }


def check_alike(ours: dict, theirs: dict) -> None:
    """Compares two results of [run_script], except for times."""
    assert ours["code"] == theirs["code"]
    assert ours["received"] == theirs["received"]
    mine, original = ours["aggregate"], theirs["aggregate"]
    assert mine["counters"] == original["counters"]
    assert ours["labels"] == theirs["labels"]
    assert set(mine["rates"]) == set(original["rates"])
    counts = [{key: value["count"] for key, value in tool["summaries"].items()} for tool in (mine, original)]
    assert counts[0] == counts[1]
    assert set(mine) == set(original)
