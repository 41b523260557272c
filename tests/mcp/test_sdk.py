"""The official Python client works with `loadline mcp`, in each era of the protocol."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import jsonschema
import pytest
from conftest import LOADLINE
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import ElicitResult

PLAN = """
loadline: 1
target: http://load.example.org
load: { rate: 10/s, duration: 1s }
steps: [ get: / ]
"""


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
def test_official_client_checks_confirms_and_stops(tmp_path: Path, mode: str) -> None:
    questions = []

    async def confirm(_context, params) -> ElicitResult:
        questions.append(params.message)
        return ElicitResult(action="accept", content={"confirm": True})

    async def use() -> None:
        flags = ["mcp", "--runs", str(tmp_path / "runs"), "--allow-host", "load.example.org"]
        server = StdioServerParameters(command=str(LOADLINE), args=flags, cwd=tmp_path)
        async with Client(server, mode=mode, elicitation_callback=confirm) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert len(tools) == 9
            for tool in tools.values():
                jsonschema.Draft202012Validator.check_schema(tool.input_schema)
                jsonschema.Draft202012Validator.check_schema(tool.output_schema)
            assert tools["run_result"].annotations.read_only_hint
            checked = await client.call_tool("plan_check", {"plan": PLAN})
            digest = checked.structured_content["digest"]
            started = await client.call_tool("run_start", {"plan": PLAN, "digest": digest})
            assert not started.is_error, started
            run = started.structured_content["run"]
            while True:
                status = await client.call_tool("run_status", {"run": run, "wait": 30})
                if status.structured_content["conclusion"].startswith("ENDED"):
                    break
            result = await client.call_tool("run_result", {"run": run})
            jsonschema.validate(result.structured_content, tools["run_result"].output_schema)
            assert json.loads(result.content[0].text.split("\n", 1)[1]) == result.structured_content
            assert len((await client.list_prompts()).prompts) == 3
            assert len((await client.list_resources()).resources) > 10

    # In a thread, because tests with a browser leave an event loop in the process.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(anyio.run, use).result()
    assert questions == ["Send up to 10 requests/s for 1 s, 10 requests, to load.example.org?"]
