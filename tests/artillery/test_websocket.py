"""Differential test of the engine `ws`:

Artillery and `loadline artillery` run the same scripts against a server with npm's `ws`.
Connections, messages, counts and names are compared.
"""

from __future__ import annotations

import json
import re
import urllib.request
from pathlib import Path

import fake_servers
import ports
import pytest
from artillery_transcripts import summary_labels
from conftest import Loadline, wait_until
from databases import listens, start_server
from original_artillery import Artillery

pytestmark = pytest.mark.long

FOLDER = Path(__file__).parent / "ws"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yml"))
FLAGS = {"mixed": ["--scenario-name", "chat"]}
# Artillery counts many errors twice: by message, and by code or as `undefined`.
SECOND_NAME = re.compile(r"errors\.(undefined|Error: .*|[A-Z][A-Z_]+)$")
# The second name of these errors is the same.
COUNTED_TWICE = "errors.Unexpected server response: "


class Peer:
    """A server with npm's `ws`, which closes at the end of its `with` block."""

    def __init__(self, modules: Path, certificates: Path) -> None:
        self.plain, self.tls = ports.free(), ports.free()
        pair = [certificates / "server.key", certificates / "server.pem"]
        self.server = start_server("node", FOLDER / "peer.js", modules, self.plain, self.tls, *pair)

    def __enter__(self) -> Peer:
        self.server.__enter__()
        wait_until(lambda: listens(self.plain) and listens(self.tls), "the server")
        return self

    def __exit__(self, *error: object) -> None:
        self.server.__exit__(*error)

    def received(self) -> list[dict]:
        """Returns what clients sent, after they have closed their connections."""

        def log() -> list[dict] | None:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.plain}/__log", timeout=5) as answer:
                entries = json.load(answer)
            return None if any("closed" in entry and entry["closed"] is None for entry in entries) else [entries]

        return wait_until(log, "the end of all connections")[0]


class Runs:
    """Runs the scripts with either tool."""

    def __init__(self, artillery: Artillery, certificates: Path) -> None:
        self.artillery, self.certificates = artillery, certificates

    def run(self, tool: str, name: str, folder: Path) -> dict:
        """Returns what a tool sent, counted and printed."""
        folder.mkdir()
        loadline = Loadline(folder)
        loadline.write("helpers.js", (FOLDER / "helpers.js").read_text())
        with Peer(self.artillery.packages, self.certificates) as peer, fake_servers.closed_port() as closed:
            hosts = {"TLS_HOST": peer.tls, "CLOSED_HOST": closed, "HOST": peer.plain}
            text = (FOLDER / f"{name}.yml").read_text()
            for host, port in hosts.items():
                text = text.replace(host, f"127.0.0.1:{port}")
            args = ["run", loadline.write("s.yml", text), "-o", "out.json", *FLAGS.get(name, [])]
            done = self.artillery.run(loadline, *args) if tool == "theirs" else loadline("artillery", *args)
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


@pytest.fixture
def runs(artillery, certificates) -> Runs:
    return Runs(artillery, certificates)


def counted_once(counters: dict[str, int]) -> dict[str, int]:
    """Returns Artillery's counters with each error counted once."""
    once = {name: n for name, n in counters.items() if not SECOND_NAME.match(name)}
    return {name: n // 2 if name.startswith(COUNTED_TWICE) else n for name, n in once.items()}


@pytest.mark.parametrize("name", NAMES)
def test_script_behaves_as_in_artillery(runs, tmp_path, name):
    theirs, ours = (runs.run(tool, name, tmp_path / tool) for tool in ("theirs", "ours"))
    assert ours["code"] == theirs["code"]
    assert ours["received"] == theirs["received"]
    mine, original = ours["aggregate"], theirs["aggregate"]
    assert mine["counters"] == counted_once(original["counters"])
    assert ours["labels"] == [label for label in theirs["labels"] if not SECOND_NAME.match(label)]
    assert set(mine["rates"]) == set(original["rates"])
    counts = [{key: value["count"] for key, value in tool["summaries"].items()} for tool in (mine, original)]
    assert counts[0] == counts[1]
    assert set(mine) == set(original)
