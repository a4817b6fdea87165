"""Episodes on `sandbox serve` as an environment of SkyRL-gym 0.4.

    python examples/rows.py http://127.0.0.1:8765 rows.jsonl --style turns
    python examples/skyrl/sandbox_env.py rows.jsonl http://127.0.0.1:8001/v1 MODEL

The command plays each row with a served policy, as SkyRL's generator does it, and prints the rewards. A
program that trains calls `register()` before SkyRL's entry point; rows name the environment in `env_class`.
"""

import json
import re
import sys

import skyrl_gym
from openai import OpenAI
from openenv import GenericEnvClient
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput


def register():
    skyrl_gym.register("sandbox", entry_point="sandbox_env:SandboxEnv")


def call(turn):
    """The call that a turn makes. A turn without one counts, and the server's answer says what is wrong."""
    if script := re.search(r"<tool_call>\s*python\s*<code>(.*)</code>\s*</tool_call>", turn, re.DOTALL):
        return {"tool_name": "python", "arguments": {"code": script[1].strip("\r\n")}}
    if re.search(r'<tool_call>\s*\{\s*"name"\s*:\s*"Score".*</tool_call>', turn, re.DOTALL):
        return {"tool_name": "score"}
    return {"tool_name": "submit" if re.search("<answer>.*</answer>", turn, re.DOTALL) else "malformed"}


class SandboxEnv(BaseTextEnv):
    """An episode. The rewards of its steps sum to the value of the final grade."""

    def __init__(self, env_config=None, extras=None):
        super().__init__()
        self.task = extras["extra_info"]["task"]
        self.max_turns = extras.get("max_turns", 15)
        # A step may have to wait for a free slot.
        url = (env_config or {}).get("url", "http://127.0.0.1:8765")
        self.client = GenericEnvClient(url, message_timeout_s=900).sync()

    def init(self, prompt):
        self.client.reset(task=self.task)
        return prompt, {"task": self.task}

    def step(self, action):
        self.turns += 1
        step = self.client.step(call(action))
        reward, done = step.reward, step.done
        if self.turns >= self.max_turns and not done:  # only a submission has a grade
            reward, done = reward + self.client.step({"tool_name": "submit"}).reward, True
        said = [] if done else [{"role": "user", "content": step.observation["result"]}]
        return BaseTextEnvStepOutput(observations=said, reward=reward, done=done, metadata={})

    def close(self):
        self.client.close()


def play(row, policy, model, url):
    environment = skyrl_gym.make("sandbox", env_config={"url": url}, extras=row | {"max_turns": 5})
    messages, _ = environment.init(list(row["prompt"]))
    total, done = 0.0, False
    while not done:
        answer = policy.chat.completions.create(model=model, messages=messages, max_tokens=512)
        turn = answer.choices[0].message.content or ""  # a thought alone is no content
        step = environment.step(turn)
        messages += [{"role": "assistant", "content": turn}, *step["observations"]]
        total, done = total + step["reward"], step["done"]
    environment.close()
    return {"task": row["task"], "reward": total}


if __name__ == "__main__":
    rows, policy_url, model, *url = sys.argv[1:]
    register()
    policy = OpenAI(base_url=policy_url, api_key="none")
    with open(rows) as lines:
        for line in lines:
            print(json.dumps(play(json.loads(line), policy, model, *(url or ["http://127.0.0.1:8765"]))))
