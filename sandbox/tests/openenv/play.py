"""Clients of `openenv` 0.10 and of `mcp`, as they are installed: `play.py URL SCENARIO`.

Each scenario plays on the tasks of the server and prints one line of JSON.
"""

import asyncio
import json
import pathlib
import runpy
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from openenv.core import GenericEnvClient
from openenv.core.env_server.mcp_types import CallToolAction
from openenv.core.mcp_client import MCPToolClient

PACKAGE = pathlib.Path(__file__).parents[3] / "examples/openenv"
SandboxEnv = runpy.run_path(str(PACKAGE / "client.py"))["SandboxEnv"]
SUBMIT = """
rows = [line.split(",") for line in open("input/test.csv").read().split()[1:]]
with open("submission.csv", "w") as file:
    file.write("id,y\\n" + "".join(f"{id},{int(x) % 2}\\n" for id, x in rows))
print("wrote", len(rows))
"""


async def tools(url):
    """Tools by name, and steps with rewards, on one episode; then another one in the same session."""
    async with MCPToolClient(url) as client:
        start = await client.reset(split="train", index=1)
        listed = await client.list_tools()
        ran = await client.call_tool("python", code=SUBMIT)
        try:
            unknown = await client.call_tool("bash")
        except RuntimeError as error:
            unknown = str(error)
        scored = await client.step(CallToolAction(tool_name="score", arguments={}))
        state = await client.state()
        # As after a lost connection: the client comes back to its session.
        await client.disconnect()
        last = await client.step(CallToolAction(tool_name="submit", arguments={}))
        again = await client.reset(task="alpha")
    return {
        "task": start.observation.metadata["task"],
        "tools": [[tool.name, sorted(tool.input_schema["properties"])] for tool in listed],
        "ran": ran,
        "unknown": unknown,
        "scored": [scored.observation.result, scored.reward, scored.done],
        "steps": state.step_count,
        "last": [last.observation.result, last.done, last.observation.metadata["finish"]],
        "again": again.observation.metadata["task"],
    }


def generic(url):
    """As the tutorials write it, without `await`."""
    with GenericEnvClient(url).sync() as client:
        start = client.reset(task_id="beta")
        ran = client.step({"code": SUBMIT})
        last = client.step({"tool_name": "submit"})
        state = client.state()
    return {
        "task": start.observation["task"],
        "ran": ran.observation["result"],
        "last": [last.reward, last.done],
        "state": [state["step_count"], state["reward"]],
    }


async def many(url):
    """Sixteen at a time with the client of `examples/openenv`, two episodes each."""

    async def one(number):
        async with SandboxEnv(url) as client:
            rewards = []
            for turn in range(2):
                await client.reset(seed=number + 100 * turn)
                steps = [await client.python(SUBMIT), await client.score(), await client.submit()]
                rewards.append(sum(step.reward for step in steps))
        return rewards

    return await asyncio.gather(*(one(number) for number in range(16)))


async def mcp(url):
    """The reference client of MCP, which knows nothing of OpenEnv."""
    async with (
        streamable_http_client(f"{url}/mcp?task=gamma") as (read, write, *_),
        ClientSession(read, write) as session,
    ):
        about = await session.initialize()
        listed = await session.list_tools()
        ran = await session.call_tool("python", {"code": SUBMIT})
        scored = await session.call_tool("score", {})
        last = await session.call_tool("submit", {})
        late = None
        try:
            await session.call_tool("score", {})
        except Exception as error:
            late = str(error)
    return {
        "instructions": about.instructions,
        "tools": [tool.name for tool in listed.tools],
        "ran": [ran.content[0].text, ran.isError],
        "scored": [scored.content[0].text, scored.meta["reward"]],
        "done": last.meta["done"],
        "late": late,
    }


def main(url, scenario):
    said = globals()[scenario](url)
    print(json.dumps(asyncio.run(said) if asyncio.iscoroutine(said) else said))


main(*sys.argv[1:])
