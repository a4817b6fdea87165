"""One episode on a server of tasks: `openenv_client.py URL [TASK]`.

Needs `pip install openenv`. With a token the URL is `http://agent:TOKEN@host:8765`.
"""

import asyncio
import sys

from openenv.core.env_server.mcp_types import CallToolAction
from openenv.core.mcp_client import MCPToolClient

# What an agent would write; this hands in the sample. `input/` holds the task's public files.
SCRIPT = """
import shutil
shutil.copy("input/sample_submission.csv", "submission.csv")
print(open("submission.csv").read().count("\\n") - 1, "rows")
"""


async def play(url, task=None):
    # A step may take as long as the server's answer limit, which is 55 s by default.
    async with MCPToolClient(url, message_timeout_s=60) as client:
        start = await client.reset(**({"task": task} if task else {"seed": 1}))
        about = start.observation.metadata
        print(f"task {about['task']}: {about['turns']} turns of {about['step_limit']} each")
        print(about["description"])
        total = 0.0
        for tool, arguments in [("python", {"code": SCRIPT}), ("score", {}), ("submit", {})]:
            step = await client.step(CallToolAction(tool_name=tool, arguments=arguments))
            print(f"--- {tool}: reward {step.reward:.2f}")
            print(step.observation.error or step.observation.result)
            total += step.reward
        print("--- the end:", step.observation.metadata["finish"])
        print(f"total reward {total:.2f}")


asyncio.run(play(*sys.argv[1:]))
