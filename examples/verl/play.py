"""Plays `sandbox_loop.py` with a served policy in the place of verl's engines, and prints the rewards.

    python examples/rows.py http://127.0.0.1:8765 rows.jsonl --style turns
    python examples/verl/play.py rows.jsonl CHECKPOINT http://127.0.0.1:8001/v1 MODEL

CHECKPOINT is the folder of the served policy, for its tokenizer.
"""

import asyncio
import json
import sys

from omegaconf import OmegaConf
from openai import AsyncOpenAI
from sandbox_loop import SandboxLoop
from transformers import AutoTokenizer
from verl.experimental.agent_loop.agent_loop import DictConfigWrap
from verl.workers.rollout.replica import TokenOutput


class ServedPolicy:
    """What verl calls a server manager, over `/v1/completions` of `rl serve` or vLLM: tokens in and out."""

    def __init__(self, url, model):
        self.client, self.model = AsyncOpenAI(base_url=url, api_key="none"), model

    async def generate(self, request_id, *, prompt_ids, sampling_params):
        more = {"logprobs": 0, "extra_body": {"return_token_ids": True}}
        answer = await self.client.completions.create(
            model=self.model, prompt=prompt_ids, **sampling_params, **more
        )
        choice = answer.choices[0]
        return TokenOutput(token_ids=choice.token_ids, log_probs=choice.logprobs.token_logprobs)


async def main(rows, checkpoint, policy_url, model, url="http://127.0.0.1:8765"):
    config = {"actor_rollout_ref": {"rollout": {"prompt_length": 1024, "response_length": 1024}}}
    config, data = DictConfigWrap(OmegaConf.create(config)), DictConfigWrap(OmegaConf.create({}))
    policy, tokenizer = ServedPolicy(policy_url, model), AutoTokenizer.from_pretrained(checkpoint)
    # As verl makes it: without a processor of pictures and a class of data sets.
    loop = SandboxLoop(config, policy, tokenizer, None, None, data, "qwen3", url=url)
    with open(rows) as lines:
        for row in map(json.loads, lines):
            output = await loop.run(
                {"max_tokens": 512}, raw_prompt=row["prompt"], extra_info=row["extra_info"]
            )
            print(json.dumps({"task": row["task"], "reward": output.reward_score}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
