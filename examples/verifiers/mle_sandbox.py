"""Episodes on `sandbox serve` for verifiers 0.4: a task set, and an environment that holds the conversation.

    python examples/rows.py http://127.0.0.1:8765 rows.jsonl --style turns
    vf-eval mle-sandbox @ eval.toml

The policy writes its calls into its text, so any model can play. Its reward is the sum of what the server
pays, which is the value of the final grade.
"""

import json
import re
from pathlib import Path

import verifiers.v1 as vf
from openenv import GenericEnvClient

__all__ = ["SandboxEnv", "SandboxTaskset"]


def call(turn):
    """The call that a turn makes. A turn without one counts, and the server's answer says what is wrong."""
    if script := re.search(r"<tool_call>\s*python\s*<code>(.*)</code>\s*</tool_call>", turn, re.DOTALL):
        return {"tool_name": "python", "arguments": {"code": script[1].strip("\r\n")}}
    if re.search(r'<tool_call>\s*\{\s*"name"\s*:\s*"Score".*</tool_call>', turn, re.DOTALL):
        return {"tool_name": "score"}
    return {"tool_name": "submit" if re.search("<answer>.*</answer>", turn, re.DOTALL) else "malformed"}


class SandboxData(vf.TaskData):
    """A row of `rows.py`."""

    url: str
    opening: str


class SandboxConfig(vf.TasksetConfig):
    url: str = "http://127.0.0.1:8765"
    """Address of `sandbox serve`."""
    rows: Path = Path("rows.jsonl")
    """What `rows.py` wrote, in the style `turns` or `brief`."""


class SandboxTaskset(vf.Taskset[vf.Task[SandboxData], SandboxConfig]):
    def load(self):
        for row in map(json.loads, self.config.rows.read_text().splitlines()):
            system, user = (message["content"] for message in row["prompt"])
            data = SandboxData(name=row["task"], system_prompt=system, opening=user, url=self.config.url)
            yield vf.Task[SandboxData](data, self.config.task)


class SandboxEnvConfig(vf.EnvConfig):
    player: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"})


class SandboxEnv(vf.Env[SandboxEnvConfig]):
    async def run(self, task, agents):
        data = task.data
        # A step may have to wait for a free slot.
        async with GenericEnvClient(data.url, message_timeout_s=900) as client:
            step, total = await client.reset(task=data.name), 0.0
            async with agents.player.interaction(task) as interaction:
                segment = await interaction.turn(data.opening)
                while not (step.done or segment.terminated):
                    step = await client.step(call(segment.last_reply))
                    total += step.reward
                    if not step.done:
                        segment = await interaction.turn(step.observation["result"])
            if not step.done:  # the conversation reached a limit of its own
                total += (await client.step({"tool_name": "submit"})).reward
        interaction.trace.record_reward("grade", total)
