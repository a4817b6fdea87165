"""A client whose tools are methods that return a step, with its reward.

async with SandboxEnv("http://127.0.0.1:8765") as env:
    start = await env.reset(split="train", index=0)
    step = await env.python("print(1)")
    step = await env.submit()
"""

from openenv.core.env_server.mcp_types import CallToolAction
from openenv.core.mcp_client import MCPToolClient


class SandboxEnv(MCPToolClient):
    """An episode on a task of a server."""

    async def python(self, code):
        """Runs a script in the episode's work dir."""
        return await self.step(CallToolAction(tool_name="python", arguments={"code": code}))

    async def score(self):
        """Asks what the present `submission.csv` is worth."""
        return await self.step(CallToolAction(tool_name="score", arguments={}))

    async def submit(self):
        """Hands in the present `submission.csv`, which ends the episode."""
        return await self.step(CallToolAction(tool_name="submit", arguments={}))
