"""Python clients that stream as a load tester would, for bench/llm.py.

Usage: llm_client.py aiohttp|httpx URL USERS SECONDS

Each user asks again and again, parses each event as JSON and keeps its time. Prints the number of
events with content, and the CPU seconds without the start.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time

BODY = {"model": "m", "stream": True, "stream_options": {"include_usage": True}, "messages": [{"role": "user", "content": "hello"}]}


class Events:
    def __init__(self) -> None:
        self.times: list[float] = []

    def line(self, line: str | bytes) -> None:
        data = line.strip()[6:]
        if not data or data in ("[DONE]", b"[DONE]"):
            return
        choices = json.loads(data)["choices"]
        if choices and choices[0]["delta"].get("content"):
            self.times.append(time.perf_counter())


async def with_aiohttp(url: str, users: int, end: float, events: Events) -> None:
    import aiohttp

    async def user() -> None:
        while time.monotonic() < end:
            async with session.post(url, json=BODY) as response:
                async for line in response.content:
                    events.line(line)

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(user() for _ in range(users)))


async def with_httpx(url: str, users: int, end: float, events: Events) -> None:
    import httpx

    async def user() -> None:
        while time.monotonic() < end:
            async with client.stream("POST", url, json=BODY, timeout=60) as response:
                async for line in response.aiter_lines():
                    events.line(line)

    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=None)) as client:
        await asyncio.gather(*(user() for _ in range(users)))


def main(library: str, url: str, users: int, seconds: float) -> None:
    load = {"aiohttp": with_aiohttp, "httpx": with_httpx}[library]
    # The first call imports the library.
    asyncio.run(load(url, 1, 0, Events()))
    begun = resource.getrusage(resource.RUSAGE_SELF)
    events = Events()
    asyncio.run(load(url, users, time.monotonic() + seconds, events))
    ended = resource.getrusage(resource.RUSAGE_SELF)
    cpu = ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime
    print(json.dumps({"events": len(events.times), "cpu": cpu}))


main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
