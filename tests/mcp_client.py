"""A client of the Model Context Protocol that writes and reads single lines."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from pathlib import Path

OLD = "2025-11-25"
NEW = "2026-07-28"


class Client:
    """Starts `loadline mcp` and calls its tools. `answers` are the replies to questions."""

    def __init__(self, command: Path, folder: Path, *flags: str, version: str = OLD, answers: list[dict] | None = None) -> None:
        self.folder, self.version, self.answers = folder, version, answers
        self.questions: list[str] = []
        self.number = 0
        self.process = subprocess.Popen(
            [command, "mcp", "--runs", str(folder / "runs"), *flags],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(folder / "mcp-errors.txt").open("w"),
            text=True,
            env=dict(os.environ),
        )
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        if version == OLD:
            self.info = self.request(
                "initialize",
                {"protocolVersion": OLD, "capabilities": self._capabilities(), "clientInfo": {"name": "test", "version": "1"}},
            )
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _capabilities(self) -> dict:
        return {} if self.answers is None else {"elicitation": {}}

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def send(self, message: dict) -> None:
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def request(self, method: str, params: dict, timeout: float = 60) -> dict:
        """Returns the result, or the error, of a request."""
        self.number += 1
        if self.version == NEW:
            params = {
                **params,
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": NEW,
                    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                    "io.modelcontextprotocol/clientCapabilities": self._capabilities(),
                },
            }
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            line = self.lines.get(timeout=timeout)
            assert line is not None, (self.folder / "mcp-errors.txt").read_text()
            message = json.loads(line)
            if "method" in message and "id" in message:
                self.questions.append(message["params"]["message"])
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": self.answers.pop(0)})
            elif message.get("id") == self.number:
                return message.get("result") or message

    def raw(self, tool: str, **arguments: object) -> dict:
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool: str, **arguments: object) -> dict:
        """Calls a tool that succeeds, and returns its structured answer."""
        result = self.raw(tool, **arguments)
        assert not result["isError"], result
        return self.checked(result)

    def refused(self, tool: str, **arguments: object) -> str:
        """Calls a tool that is refused, and returns the first line of the text."""
        result = self.raw(tool, **arguments)
        assert result["isError"], result
        return self.checked(result)["conclusion"]

    @staticmethod
    def checked(result: dict) -> dict:
        text = result["content"][0]["text"]
        assert len(text.encode()) <= 4096
        first, rest = text.split("\n", 1)
        body = result["structuredContent"]
        assert json.loads(rest) == body
        assert first == body["conclusion"] == next(iter(body.values()))
        return body

    def run(self, **arguments: object) -> str:
        """Starts a run, waits for its end, and returns its name."""
        name = self.call("run_start", **arguments)["run"]
        self.wait(name)
        return name

    def wait(self, run: str) -> dict:
        while True:
            status = self.call("run_status", run=run, wait=30)
            if status["conclusion"].startswith("ENDED"):
                return status

    def close(self) -> int:
        """Closes the connection, and returns the server's exit code."""
        self.process.stdin.close()
        return self.process.wait(timeout=60)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(timeout=10)
