"""Episodes on `sandbox serve` as an agent loop of verl 0.9.

verl finds it by `agent_loops.yaml` and the column `agent_name` of its rows, which `examples/rows.py` writes.
`play.py` runs it without verl's engines.
"""

import re
from uuid import uuid4

from openenv import GenericEnvClient
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput, register


def call(turn):
    """The call that a turn makes. A turn without one counts, and the server's answer says what is wrong."""
    if script := re.search(r"<tool_call>\s*python\s*<code>(.*)</code>\s*</tool_call>", turn, re.DOTALL):
        return {"tool_name": "python", "arguments": {"code": script[1].strip("\r\n")}}
    if re.search(r'<tool_call>\s*\{\s*"name"\s*:\s*"Score".*</tool_call>', turn, re.DOTALL):
        return {"tool_name": "score"}
    return {"tool_name": "submit" if re.search("<answer>.*</answer>", turn, re.DOTALL) else "malformed"}


@register("sandbox")
class SandboxLoop(AgentLoopBase):
    """An episode. Its reward is the sum of what the server pays, which is the value of the final grade."""

    def __init__(self, *args, url="http://127.0.0.1:8765", **kwargs):
        super().__init__(*args, **kwargs)
        self.url, self.length = url, self.rollout_config.response_length

    async def run(self, sampling_params, **row):
        messages, request, total, turns = list(row["raw_prompt"]), uuid4().hex, 0.0, 0
        ids, mask, logprobs = await self.ct_build_initial_tokens(messages), [], []
        # A step may have to wait for a free slot.
        async with GenericEnvClient(self.url, message_timeout_s=900) as client:
            step = await client.reset(task=row["extra_info"]["task"])
            while not step.done and len(mask) < self.length:
                said = await self.server_manager.generate(
                    request_id=request, prompt_ids=ids, sampling_params=sampling_params
                )
                # Engines that were not asked for log-probabilities give none.
                merged, mask, logprobs = await self.ct_merge_assistant_token(
                    ids,
                    said.token_ids,
                    mask,
                    logprobs if said.log_probs else None,
                    assistant_logprobs=said.log_probs,
                )
                ids, turns = merged.token_ids, turns + 1
                turn = self.tokenizer.decode(said.token_ids, skip_special_tokens=True)
                step = await client.step(call(turn))
                total += step.reward
                if not step.done:
                    before = [*messages, {"role": "assistant", "content": turn}]
                    messages = [*before, {"role": "tool", "content": step.observation["result"]}]
                    merged, mask, logprobs = await self.ct_merge_context_msg(
                        before, messages, ids, mask, logprobs
                    )
                    ids = merged.token_ids
            if not step.done:  # the response is full
                total += (await client.step({"tool_name": "submit"})).reward
        start = len(ids) - len(mask)
        return AgentLoopOutput(
            prompt_ids=ids[:start],
            response_ids=ids[start:][: self.length],
            response_mask=mask[: self.length],
            response_logprobs=logprobs and logprobs[: self.length],
            reward_score=total,
            num_turns=2 * turns,
            metrics={},
            extra_fields={"turn_scores": [], "tool_rewards": []},
        )
