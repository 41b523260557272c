"""Plans and records of runs with several nodes. Every arrival has its own id."""

from __future__ import annotations

import base64
import json
import math
import re
import struct
import zlib
from collections import Counter
from pathlib import Path

from conftest import wait_until
from fake_servers import RecordingServer
from process_tree import arguments, children

ROWS = 4_000


def write_ids(loadline) -> None:
    """Writes one row for each arrival."""
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


def write_plan(loadline, url: str, load: str, more: str = "") -> None:
    write_ids(loadline)
    loadline.write("plan.yml", PLAN.format(url=url, load=load, more=more))


def count_ids(peer: RecordingServer) -> Counter[int]:
    """Returns how often each id was requested."""
    found = (re.search(r"/a\?id=(\d+)", request.path) for request in list(peer.requests))
    return Counter(int(match[1]) for match in found if match)


def sum_parts(folder: Path) -> list[dict]:
    """Returns the counters of each node's record, summed over all requests."""
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


def node_pids(process) -> list[int]:
    """Returns the process ids of the nodes, in order."""

    def found() -> list[int]:
        return [pid for pid in children(process.pid) if arguments(pid)[1:2] == [b"node"]]

    return wait_until(lambda: len(found()) >= 3 and found(), "the nodes")


def read_histograms(folder: Path) -> Counter[tuple[str, int]]:
    """Counts the samples in each bucket of each time of a record, over all its intervals.

    An independent reader, written from the description of the HdrHistogram format.
    """
    found: Counter[tuple[str, int]] = Counter()
    for line in (folder / "intervals.hlog").read_text().splitlines():
        if not line.startswith("Tag="):
            continue
        tag, *_, packed = line.split(",")
        plain = zlib.decompress(base64.b64decode(packed)[8:])
        (length,) = struct.unpack_from(">I", plain, 4)
        at, end, bucket = 40, 40 + length, 0
        while at < end:
            number = shift = 0
            while True:
                byte = plain[at]
                at += 1
                # The ninth byte has eight data bits.
                number |= (byte if shift == 56 else byte & 0x7F) << shift
                shift += 7
                if byte < 0x80 or shift > 56:
                    break
            number = (number >> 1) ^ -(number & 1)
            if number > 0:
                found[tag, bucket] += number
            bucket += 1 if number >= 0 else -number
    return found


def value_ns(bucket: int) -> int:
    """Returns the largest value of a bucket, at the record's precision of three digits."""
    if bucket < 2048:
        return bucket
    power = (bucket >> 10) - 1
    return ((bucket & 1023) + 1024 + 1 << power) - 1


def quantile_ns(samples: Counter[tuple[str, int]], of: str, share: float) -> int:
    """Returns a quantile of one time, over requests with any outcome."""
    own = sorted((bucket, n) for (tag, bucket), n in samples.items() if tag.startswith(f"Tag={of}."))
    rank = math.ceil(share * sum(n for _, n in own))
    for bucket, n in own:
        rank -= n
        if rank <= 0:
            return value_ns(bucket)
    raise AssertionError(f"no samples of {of}")
