"""Tasks of `sandbox serve` as a task of Inspect 0.3, for models that call tools.

    python examples/rows.py http://127.0.0.1:8765 rows.jsonl --split val
    export SERVED_BASE_URL=http://127.0.0.1:8001/v1 SERVED_API_KEY=none
    inspect eval examples/inspect/sandbox_task.py -T rows=rows.jsonl --model openai-api/served/MODEL

The score of a sample is the sum of what the server pays, which is the value of the final grade. A sample
whose environment fails is an error of Inspect's, not a score of 0.
"""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.model import ChatMessageSystem, ChatMessageUser
from inspect_ai.scorer import Score, mean, scorer, stderr
from inspect_ai.solver import solver
from inspect_ai.tool import ToolDef
from openenv import GenericEnvClient


@solver
def episode(url):
    async def solve(state, generate):
        # A step may have to wait for a free slot.
        async with GenericEnvClient(url, message_timeout_s=900) as client:
            step = await client.reset(task=state.sample_id)
            state.metadata["reward"] = 0.0

            async def call(name, **arguments):
                nonlocal step
                if step.done:  # the turn has calls after the one that ended the episode
                    return "the episode is over"
                step = await client.step({"tool_name": name, "arguments": arguments})
                state.metadata["reward"] += step.reward
                if step.done:
                    state.completed = True
                return step.observation["result"]

            async def python(code: str) -> str:
                """Runs a Python script in the folder of the episode.

                Args:
                    code: The script.
                """
                return await call("python", code=code)

            async def score() -> str:
                """Grades the present submission on some of the rows."""
                return await call("score")

            async def submit() -> str:
                """Hands in the present submission, which ends the episode."""
                return await call("submit")

            state.tools = [ToolDef(function).as_tool() for function in (python, score, submit)]
            try:
                return await generate(state)
            finally:  # also where a limit of Inspect's ends the conversation
                await call("submit")

    return solve


@scorer(metrics=[mean(), stderr()])
def grade():
    async def score(state, target):
        return Score(value=state.metadata["reward"])

    return score


def sample(row):
    system, user = (message["content"] for message in row["prompt"])
    return Sample(id=row["task"], input=[ChatMessageSystem(content=system), ChatMessageUser(content=user)])


@task
def sandbox_task(rows: str = "rows.jsonl", url: str = "http://127.0.0.1:8765"):
    dataset = json_dataset(str(Path(rows).absolute()), sample)
    return Task(dataset=dataset, solver=episode(url), scorer=grade())
