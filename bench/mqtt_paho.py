"""Publishes with paho like Pepeunit's load generator, for comparison.

It has a process per worker, a client with its own network thread per unit, and one event loop that
publishes and then sleeps. Prints the number of messages passed to paho. Needs paho-mqtt.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import sys
import time

import paho.mqtt.client as mqtt

LETTERS = 64


async def unit(client: mqtt.Client, number: int, per_second: int, until: float) -> int:
    count = 0
    while time.monotonic() < until:
        client.publish(f"load/{number}", "x" * LETTERS)
        count += 1
        await asyncio.sleep(1 / per_second)
    return count


def client_of(port: int) -> mqtt.Client:
    # Version 2 of paho requires a callback version.
    version = getattr(mqtt, "CallbackAPIVersion", None)
    client = mqtt.Client(version.VERSION2) if version else mqtt.Client()
    client.connect("127.0.0.1", port)
    client.loop_start()
    return client


def work(port: int, numbers: range, per_second: int, seconds: float) -> int:
    clients = {number: client_of(port) for number in numbers}

    async def all_of_them() -> list[int]:
        until = time.monotonic() + seconds
        return await asyncio.gather(*(unit(c, n, per_second, until) for n, c in clients.items()))

    return sum(asyncio.run(all_of_them()))


def main() -> None:
    port, units, per_second, workers = (int(word) for word in sys.argv[1:5])
    each = units // workers
    parts = [(port, range(n * each, (n + 1) * each), per_second, float(sys.argv[5])) for n in range(workers)]
    with multiprocessing.Pool(workers) as pool:
        print(sum(pool.starmap(work, parts)))


if __name__ == "__main__":
    main()
