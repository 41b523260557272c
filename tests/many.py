"""Runs of several nodes: a plan whose arrivals can be told apart, and who takes part."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

from conftest import until
from peers import Recorder

ROWS = 4_000


def ids(loadline) -> None:
    """A row for each arrival, whoever sends it."""
    loadline.write("ids.csv", "id\n" + "".join(f"{n}\n" for n in range(ROWS)))


PLAN = """\
loadline: 1
target: {url}
load: {load}
csv: {{ file: ids.csv }}
http: {{ connections: 60 }}
steps:
  - get: /a?id={{{{ id }}}}
criteria:
  - p90 < 5s
  - errors < 5%
{more}"""


def plan(loadline, url: str, load: str, more: str = "") -> None:
    ids(loadline)
    loadline.write("plan.yml", PLAN.format(url=url, load=load, more=more))


def sent(peer: Recorder) -> Counter[int]:
    """How often each row was."""
    found = (re.search(r"/a\?id=(\d+)", request.path) for request in list(peer.requests))
    return Counter(int(match[1]) for match in found if match)


def parts(folder: Path) -> list[dict]:
    """What each node's record has of all requests, added up."""
    summed = []
    for part in sorted((folder / "parts").iterdir()):
        sums = Counter()
        for line in (part / "counters.jsonl").read_text().splitlines():
            row = json.loads(line)
            if row.get("label") == 0:
                sums["issued"] += row.get("issued", 0)
                sums["ok"] += row.get("ok", 0)
                sums["due"] += row.get("run", {}).get("arrivals", {}).get("due", 0)
        summed.append(dict(sums))
    return summed


def nodes_of(process) -> list[int]:
    """The processes of the nodes, in order."""

    def found() -> list[int]:
        children = Path(f"/proc/{process.pid}/task").glob("*/children")
        pids = sorted({int(pid) for file in children for pid in file.read_text().split()})
        return [pid for pid in pids if Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:2] == [b"node"]]

    return until(lambda: len(found()) >= 3 and found(), "the nodes")
