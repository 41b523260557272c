"""Differential test of the engine `ws`:

Artillery and `loadline artillery` run the same scripts against a server with npm's `ws`.
Connections, messages, counts and names are compared.
"""

from __future__ import annotations

import re
from pathlib import Path

import ports
import pytest
from artillery_scripts import Peer, check_alike, run_script

pytestmark = pytest.mark.long

FOLDER = Path(__file__).parent / "ws"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yml"))
FLAGS = {"mixed": ["--scenario-name", "chat"]}
# Artillery counts many errors twice: by message, and by code or as `undefined`.
SECOND_NAME = re.compile(r"errors\.(undefined|Error: .*|[A-Z][A-Z_]+)$")
# The second name of these errors is the same.
COUNTED_TWICE = "errors.Unexpected server response: "


def counted_once(result: dict) -> dict:
    """Returns Artillery's result with each error counted once."""
    counters = result["aggregate"]["counters"]
    once = {name: n for name, n in counters.items() if not SECOND_NAME.match(name)}
    once = {name: n // 2 if name.startswith(COUNTED_TWICE) else n for name, n in once.items()}
    labels = [label for label in result["labels"] if not SECOND_NAME.match(label)]
    return {**result, "labels": labels, "aggregate": {**result["aggregate"], "counters": once}}


@pytest.mark.parametrize("name", NAMES)
def test_script_behaves_as_in_artillery(artillery, certificates, tmp_path, name):
    results = {}
    for tool in ("theirs", "ours"):
        plain, tls = ports.free(), ports.free()
        pair = [certificates / "server.key", certificates / "server.pem"]
        peer = Peer(FOLDER / "peer.js", [artillery.packages, plain, tls, *pair], [plain, tls])
        flags = FLAGS.get(name, [])
        results[tool] = run_script(tool, artillery, FOLDER / f"{name}.yml", tmp_path / tool, peer, flags)
    check_alike(results["ours"], counted_once(results["theirs"]))
